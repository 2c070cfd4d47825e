//! Whether two results are of one machine: what must be the same for their times to mean
//! anything beside each other. Memory that is free, load and steal are of the moment and no part.

use serde_json::Value;

/// Facts of an environment that make a machine.
const FACTS: [&str; 14] = [
    "/cpu/model",
    "/cpu/logical_count",
    "/cpu/allowed_count",
    "/cpu/governor",
    "/cpu/is_turbo_on",
    "/cgroup/cpu_limit_millicpus",
    "/memory/total_bytes",
    "/host/kernel",
    "/host/os",
    "/host/architecture",
    "/host/virtualisation/product",
    "/data_dir/file_system",
    "/data_dir/source",
    "/build/rustc",
];

/// The facts of `environment`, as a result writes it; missing ones are `null`.
pub(super) fn of(environment: &Value) -> Vec<(&'static str, Value)> {
    let fact =
        |path: &'static str| (path, environment.pointer(path).cloned().unwrap_or(Value::Null));
    FACTS.into_iter().map(fact).collect()
}

/// Facts that are not the same in both, as `cpu/model: "a" against "b"`. Two machines of which the
/// processor is unknown are not known to be the same.
pub(super) fn differences(a: &Value, b: &Value) -> Vec<String> {
    let pairs = of(a).into_iter().zip(of(b));
    let differs = |path: &str, a: &Value, b: &Value| a != b || (path == FACTS[0] && a.is_null());
    let differing = pairs.filter(|((path, a), (_, b))| differs(path, a, b));
    let told = |((path, a), (_, b)): ((&str, Value), (&str, Value))| {
        format!("{}: {a} against {b}", path.trim_start_matches('/'))
    };
    differing.map(told).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_machine_is_itself_and_another_kernel_is_another_machine() {
        let machine = json!({"cpu": {"model": "x"}, "host": {"kernel": "6.1", "load_average": 1}});
        assert_eq!(differences(&machine, &machine), Vec::<String>::new());
        let mut other = machine.clone();
        other["host"]["load_average"] = json!(9);
        assert_eq!(differences(&machine, &other), Vec::<String>::new());
        other["host"]["kernel"] = json!("6.2");
        assert_eq!(differences(&machine, &other), ["host/kernel: \"6.1\" against \"6.2\""]);
    }

    #[test]
    fn a_machine_that_says_nothing_is_not_known_to_be_the_same() {
        assert_eq!(differences(&json!({}), &json!({})), ["cpu/model: null against null"]);
    }
}
