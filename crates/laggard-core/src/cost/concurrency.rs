//! The time that a device spends in service, whether it works on one request at a time or on many.
//!
//! A single arm is in service while any request is under way: its busy time. A device that works on everything at once serves each
//! request for as long as it takes: the sum of the request times. Between them, `1/E = (1-g)/Q + g/B`: with about `1/g` channels. Which
//! `g` holds is found in the data: with the right one the time in service follows from the work.

/// What the kernel books for a device in some time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// With any request under way.
    pub busy_s: f64,
    /// Sum of the times of all requests.
    pub waited_s: f64,
}

impl Times {
    /// Adds another time.
    pub fn add(&mut self, other: Times) {
        self.busy_s += other.busy_s;
        self.waited_s += other.waited_s;
    }
}

/// Share of a device that works on one request at a time: 1 is a single arm, 0 serves everything at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Concurrency(pub f64);

impl Concurrency {
    /// What is tried, the most serial first.
    pub const TRIED: [Concurrency; 7] = [
        Concurrency(1.0),
        Concurrency(0.5),
        Concurrency(0.25),
        Concurrency(0.125),
        Concurrency(0.0625),
        Concurrency(0.03),
        Concurrency(0.0),
    ];

    /// One arm.
    pub const SERIAL: Concurrency = Concurrency(1.0);

    /// Seconds in service.
    pub fn in_service(self, times: Times) -> f64 {
        let Times { busy_s, waited_s } = times;
        if self == Concurrency::SERIAL || waited_s <= 0.0 {
            return busy_s;
        }
        // Kernels since 5.0 book a jiffy for each start: short requests look busier than all of them together took.
        let busy_s = busy_s.min(waited_s);
        if busy_s <= 0.0 {
            return 0.0;
        }
        1.0 / ((1.0 - self.0) / waited_s + self.0 / busy_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_arm_is_busy_and_many_channels_wait() {
        let times = Times { busy_s: 2.0, waited_s: 8.0 };
        assert_eq!(Concurrency(1.0).in_service(times), 2.0);
        assert_eq!(Concurrency(0.0).in_service(times), 8.0);
        assert_eq!(Concurrency(0.5).in_service(times), 3.2);
        assert_eq!(Concurrency(0.0).in_service(Times { busy_s: 0.55, waited_s: 0.02 }), 0.02);
        assert_eq!(
            Concurrency(0.5).in_service(Times { busy_s: 1.0, waited_s: 0.0 }),
            1.0,
            "nothing completed"
        );
    }
}
