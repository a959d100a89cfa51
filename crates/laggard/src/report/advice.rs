//! What to do next: one command for each cause, on the part itself or on the server that holds it.

use laggard_core::diagnose::{Cause, Incident};
use laggard_core::model::Kind;
use laggard_engine::Session;

/// What to run next: on the part itself if it is a server, else on the server that holds it.
pub fn next(session: &Session, incident: &Incident) -> String {
    // The accused component's own server; that of the worst it explains, if it is a part.
    let accused = session.roster.find(&incident.component).unwrap_or(incident.worst);
    let host = match incident.kind {
        Kind::Server => Some(incident.component.as_str()),
        Kind::Controller | Kind::Drawer | Kind::Group => None,
        Kind::Lun | Kind::Attachment | Kind::Device => session.roster.components[accused].part(Kind::Server),
    };
    next_command(incident.cause, &incident.component, host)
}

/// The next command to run, on `host` where it is known.
fn next_command(cause: Cause, part: &str, host: Option<&str>) -> String {
    // Names come from data; only what looks like a host name goes into a command that people paste into a shell.
    let is_plain = |name: &&str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c)) && !name.starts_with('-')
    };
    let on_host = |command: &str| match host.filter(is_plain) {
        Some(host) => format!("ssh {host} '{command}'"),
        None => format!("on the server of {part}: {command}"),
    };
    match cause {
        Cause::DiskHog => on_host("pidstat -d 5 3"),
        Cause::DiskBusy => on_host("iostat -x 5 3; dmesg -T | tail -50"),
        Cause::DiskStall | Cause::FailSlow => on_host("dmesg -T | tail -50; smartctl --scan; iostat -x 5 3"),
        Cause::NetworkHog => on_host("sar -n DEV 5 3; ss -tinp state established"),
        Cause::PacketLoss => on_host("nstat -az TcpRetransSegs; ip -s -s link"),
        Cause::FlappingLink => on_host("dmesg -T | grep -i link; ip -s -s link"),
        Cause::SlowLink => on_host("for i in /sys/class/net/*/speed; do echo $i $(cat $i); done"),
        Cause::LinkErrors => on_host("ip -s -s link; ethtool -S eth0 | grep -iE \"err|drop\""),
        Cause::CpuStarved => on_host("pidstat -u 5 3; cat /proc/pressure/cpu"),
        Cause::MemoryPressure => on_host("free -m; ps aux --sort=-rss | head; cat /proc/pressure/memory"),
        Cause::LostAttachment | Cause::ServerDown => on_host("uptime; multipath -ll; dmesg -T | tail -50"),
        Cause::ControllerFailed | Cause::DrawerError => format!("read the event log of {part}"),
        Cause::ComponentFault if host.is_none() => format!("read the event log of {part}"),
        Cause::ComponentFault => on_host("multipath -ll; iostat -x 5 3; dmesg -T | tail -50"),
        Cause::Load => on_host("ss -tin state established; iostat -x 5 3"),
        Cause::SingleLunWorkload => format!("find the jobs with files on {part} (job statistics, lfs find)"),
        Cause::EverybodySlow => {
            format!("look at what all of {part} share: switch, controllers, power, another workload")
        }
        Cause::SlowTogether => format!("find the job or the part that {part} and the others share"),
        Cause::Silent => on_host("uptime; lsblk; dmesg -T | tail -50"),
        Cause::Unknown => format!("laggard diagnose … --explain {part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_meaning_and_a_next_command() {
        for cause in Cause::ALL {
            let next = next_command(*cause, "sdq", Some("oss1"));
            let names = next.contains("oss1") || next.contains("sdq");
            assert!(!cause.meaning().is_empty() && names, "{}", cause.name());
        }
    }

    #[test]
    fn a_name_that_is_no_host_name_stays_out_of_commands() {
        let next = next_command(Cause::DiskBusy, "sdq", Some("oss1; reboot"));
        assert!(!next.contains("reboot"), "{next}");
    }
}
