//! The operating system: kernel, distribution, hypervisor or container, and load.

use result::environment::{Host, Virtualisation};

use super::{cpu::field, tree::Tree};

pub(super) fn probe(tree: &Tree) -> Host {
    let cpuinfo = tree.text("/proc/cpuinfo").unwrap_or_default();
    Host {
        kernel: tree.line("/proc/sys/kernel/osrelease"),
        os: tree.text("/etc/os-release").and_then(|text| pretty_name(&text)),
        architecture: std::env::consts::ARCH.to_owned(),
        virtualisation: Virtualisation {
            has_hypervisor: field(&cpuinfo, "flags")
                .map(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor")),
            product: product(tree),
            hypervisor: tree.line("/sys/hypervisor/type"),
            container: container(tree),
        },
        load_average: tree.line("/proc/loadavg").and_then(|line| load_average(&line)),
    }
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches('"').into())
}

/// Returns vendor and product of the machine, which name most hypervisors.
fn product(tree: &Tree) -> Option<String> {
    let names = ["sys_vendor", "product_name"];
    let found = names.iter().filter_map(|name| tree.line(&format!("/sys/class/dmi/id/{name}")));
    let found: Vec<_> = found.collect();
    (!found.is_empty()).then(|| found.join(" "))
}

/// Returns the container software, as systemd reports it or as its mark file shows.
fn container(tree: &Tree) -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked = marks.iter().find(|(mark, _)| tree.exists(mark)).map(|(_, name)| (*name).into());
    tree.line("/run/systemd/container").or(marked)
}

fn load_average(line: &str) -> Option<[f64; 3]> {
    let mut loads = line.split_ascii_whitespace().map(|word| word.parse::<f64>().ok());
    let loads = [loads.next()??, loads.next()??, loads.next()??];
    loads.iter().all(|load| load.is_finite()).then_some(loads)
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    #[test]
    fn each_fact_is_read_from_its_file() {
        let fake = FakeTree::new(&[
            ("/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n"),
            ("/proc/sys/kernel/osrelease", "6.18.44\n"),
            ("/proc/loadavg", "0.50 1.25 2.00 1/199 14956\n"),
            ("/etc/os-release", "NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            ("/sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("/sys/class/dmi/id/product_name", "Standard PC\n"),
            ("/.dockerenv", ""),
        ]);
        let host = probe(&fake.tree);
        assert_eq!(host.kernel.as_deref(), Some("6.18.44"));
        assert_eq!(host.os.as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(host.load_average, Some([0.5, 1.25, 2.0]));
        let expected = Virtualisation {
            has_hypervisor: Some(true),
            product: Some("QEMU Standard PC".into()),
            hypervisor: None,
            container: Some("docker".into()),
        };
        assert_eq!(host.virtualisation, expected);
    }

    #[test]
    fn without_flags_it_is_unknown_whether_a_hypervisor_runs_the_machine() {
        let arm = FakeTree::new(&[("/proc/cpuinfo", "CPU implementer\t: 0x41\n")]);
        assert_eq!(probe(&arm.tree).virtualisation.has_hypervisor, None);
        let bare = FakeTree::new(&[("/proc/cpuinfo", "flags : fpu vme\n")]);
        assert_eq!(probe(&bare.tree).virtualisation.has_hypervisor, Some(false));
    }

    #[test]
    fn a_load_that_is_no_number_is_unknown() {
        assert_eq!(load_average("NaN 1 2"), None);
        assert_eq!(load_average("1 2"), None);
    }
}
