//! Decides whether two results are of one machine, by facts that must be equal so that times can be
//! compared. Free memory, load and steal change from moment to moment, so they do not count.
//! `baseline`, `baselines` and `calibration` call it.

use result::Environment;
use serde_json::{Value, json};

/// Returns the facts of `environment` that identify a machine, as a result writes them. An unknown
/// fact is `null`.
fn machine_facts(environment: &Environment) -> [(&'static str, Value); 14] {
    let Environment { cpu, cgroup, memory, host, data_dir, build, .. } = environment;
    [
        ("cpu/model", json!(cpu.model)),
        ("cpu/logical_count", json!(cpu.logical_count)),
        ("cpu/allowed_count", json!(cpu.allowed_count)),
        ("cpu/governor", json!(cpu.governor)),
        ("cpu/is_turbo_on", json!(cpu.is_turbo_on)),
        ("cgroup/cpu_limit_millicpus", json!(cgroup.cpu_limit_millicpus)),
        ("memory/total_bytes", json!(memory.total_bytes)),
        ("host/kernel", json!(host.kernel)),
        ("host/os", json!(host.os)),
        ("host/architecture", json!(host.architecture)),
        ("host/virtualisation/product", json!(host.virtualisation.product)),
        ("data_dir/file_system", json!(data_dir.file_system)),
        ("data_dir/source", json!(data_dir.source)),
        ("build/rustc", json!(build.rustc)),
    ]
}

/// Returns the facts that differ, as `cpu/model: "a" against "b"`. A CPU model that is unknown in
/// both counts as a difference, since the machines may differ.
pub(super) fn differences(a: &Environment, b: &Environment) -> Vec<String> {
    let mut all = known_differences(a, b);
    if a.cpu.model.is_none() && b.cpu.model.is_none() {
        all.insert(0, "cpu/model: null against null".to_owned());
    }
    all
}

/// Returns the facts that differ. A CPU model that is unknown in both is no difference here.
pub fn known_differences(a: &Environment, b: &Environment) -> Vec<String> {
    let pairs = machine_facts(a).into_iter().zip(machine_facts(b));
    let differing = pairs.filter(|((_, a), (_, b))| a != b);
    differing.map(|((name, a), (_, b))| format!("{name}: {a} against {b}")).collect()
}

#[cfg(test)]
mod tests {
    use result::example;

    use super::*;

    #[test]
    fn one_machine_is_itself_and_another_kernel_is_another_machine() {
        let machine = example::environment();
        assert_eq!(differences(&machine, &machine), Vec::<String>::new());
        let mut other = machine.clone();
        other.host.load_average = Some([9.0; 3]);
        assert_eq!(differences(&machine, &other), Vec::<String>::new());
        other.host.kernel = Some("6.2".to_owned());
        assert_eq!(differences(&machine, &other), ["host/kernel: \"6.12.0\" against \"6.2\""]);
    }

    #[test]
    fn a_machine_that_does_not_tell_its_processor_is_not_known_to_be_the_same() {
        let mut machine = example::environment();
        machine.cpu.model = None;
        assert_eq!(differences(&machine, &machine), ["cpu/model: null against null"]);
        assert_eq!(known_differences(&machine, &machine), Vec::<String>::new());
    }
}
