//! The processor: its model, the CPUs that this process may use, and its clock.

use result::environment::Cpu;

use super::tree::Tree;

pub(super) fn probe(tree: &Tree) -> Cpu {
    let allowed = tree.text("/proc/self/status").and_then(|status| {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(list.trim().to_owned())
    });
    Cpu {
        model: tree.text("/proc/cpuinfo").and_then(|text| model(&text)),
        logical_count: tree.line("/sys/devices/system/cpu/online").and_then(|l| list_len(&l)),
        allowed_count: allowed.as_deref().and_then(list_len),
        allowed,
        governor: governor(tree),
        is_turbo_on: is_turbo_on(tree),
        is_smt_on: tree.flag("/sys/devices/system/cpu/smt/active"),
        clock_source: tree.line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

/// Returns the value of the first line `name : value`.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = field(cpuinfo, "model name") {
        return Some(name.into());
    }
    let implementer = field(cpuinfo, "CPU implementer")?;
    Some(format!("implementer {implementer} part {}", field(cpuinfo, "CPU part")?))
}

/// Returns the number of members of a list such as `0-3,8`.
fn list_len(list: &str) -> Option<u64> {
    list.split(',').try_fold(0_u64, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn governor(tree: &Tree) -> Option<String> {
    let policies = "/sys/devices/system/cpu/cpufreq";
    let files = tree.names(policies).into_iter();
    let files = files.map(|policy| format!("{policies}/{policy}/scaling_governor"));
    let mut found: Vec<_> = files.filter_map(|file| tree.line(&file)).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join(","))
}

fn is_turbo_on(tree: &Tree) -> Option<bool> {
    let is_off = tree.flag("/sys/devices/system/cpu/intel_pstate/no_turbo");
    is_off.map(|is_off| !is_off).or_else(|| tree.flag("/sys/devices/system/cpu/cpufreq/boost"))
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    #[test]
    fn a_machine_that_tells_nothing_is_all_unknown() {
        let cpu = probe(&FakeTree::new(&[]).tree);
        let value = serde_json::to_value(cpu).expect("serialises");
        assert!(value.as_object().is_some_and(|map| map.values().all(|v| v.is_null())), "{value}");
    }

    #[test]
    fn each_fact_is_read_from_its_file() {
        let cpu = "/sys/devices/system/cpu";
        let fake = FakeTree::new(&[
            ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Made Up 9000\nflags\t: fpu\n"),
            ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1,5\n"),
            (&format!("{cpu}/online"), "0-7\n"),
            (&format!("{cpu}/cpufreq/policy0/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/cpufreq/policy1/scaling_governor"), "performance\n"),
            (&format!("{cpu}/cpufreq/policy2/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/intel_pstate/no_turbo"), "1\n"),
            (&format!("{cpu}/smt/active"), "1\n"),
        ]);
        let expected = Cpu {
            model: Some("Made Up 9000".into()),
            logical_count: Some(8),
            allowed_count: Some(3),
            allowed: Some("0-1,5".into()),
            governor: Some("performance,powersave".into()),
            is_turbo_on: Some(false),
            is_smt_on: Some(true),
            clock_source: None,
        };
        assert_eq!(probe(&fake.tree), expected);
    }

    #[test]
    fn a_list_of_cpus_that_cannot_be_read_is_unknown() {
        assert_eq!(list_len("0"), Some(1));
        assert_eq!(list_len("0-3,8,10-11"), Some(7));
        for damaged in ["", "a", "3-1", "0-", "1,,2", "0-18446744073709551615"] {
            assert_eq!(list_len(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn an_arm_processor_is_named_by_implementer_and_part() {
        let text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(model(text).as_deref(), Some("implementer 0x41 part 0xd0c"));
    }
}
