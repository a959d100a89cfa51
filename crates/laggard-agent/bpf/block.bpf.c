// Counts completed block requests by device, direction and size, for the source `block`.
//
// Built by `cargo xtask bpf` into block.bpf.o, which is kept beside it: the agent needs no compiler, and the object fits any kernel
// that describes its own types (BTF) and has a disk in its request queues: Linux 5.15 and later. A test compares the checksum of this text with the one in the object.

typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))
#define COUNT(name, value) int (*name)[value]
#define TYPE(name, type) type *name

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;

// Only what is read of them; where it is in the running kernel is looked up when the program is loaded.
struct gendisk {
	int major;
	int first_minor;
} RELOCATED;

struct request_queue {
	struct gendisk *disk;
} RELOCATED;

struct request {
	struct request_queue *q;
	u32 cmd_flags;
} RELOCATED;

enum { MAP_TYPE_PERCPU_HASH = 5, NO_PREALLOC = 1, NOEXIST = 1 };
enum { OPERATION = 0xff, READ = 0, WRITE = 1 };
// As laggard_activity::transfer has them: 512 bytes to 64 MiB.
enum { SIZES = 18, SMALLEST = 512 };

struct transfers {
	u64 bytes[2];
	u64 counts[2 * SIZES];
};

struct {
	COUNT(type, MAP_TYPE_PERCPU_HASH);
	// Each takes 304 bytes for every processor, from when it is first seen.
	COUNT(max_entries, 4096);
	COUNT(map_flags, NO_PREALLOC);
	TYPE(key, u32);
	TYPE(value, struct transfers);
} devices SEC(".maps");

SEC("tp_btf/block_rq_complete")
int complete(u64 *arguments)
{
	struct request *request = (void *)arguments[0];
	u32 bytes = arguments[2];
	u32 way = request->cmd_flags & OPERATION;
	struct gendisk *disk = request->q->disk;

	if (bytes == 0 || way > WRITE || !disk)
		return 0;
	u32 device = (u32)disk->major << 20 | (u32)disk->first_minor;
	struct transfers *known = lookup(&devices, &device);
	if (!known) {
		struct transfers none = {};
		update(&devices, &device, &none, NOEXIST);
		known = lookup(&devices, &device);
		if (!known)
			return 0;
	}
	u32 size = 0;
	for (u32 limit = SMALLEST; size < SIZES - 1 && bytes > limit; limit <<= 1)
		size++;
	u32 place = way * SIZES + size;
	if (place < 2 * SIZES)
		known->counts[place]++;
	known->bytes[way & 1] += bytes;
	return 0;
}

const char text_checksum[] SEC("checksum") = CHECKSUM;
const char text_license[] SEC("license") = "Dual MIT/GPL";
