//! Which cell `--trace` traces.

use anyhow::{Result, anyhow};

/// The index of the cell that `wanted` names among `names`, with or without its store; `None`
/// where nothing is wanted.
///
/// # Errors
/// No cell has that name, or several do.
pub fn wanted(names: &[String], wanted: Option<&str>) -> Result<Option<usize>> {
    wanted.map(|wanted| named(names, wanted, "--trace-variant")).transpose()
}

/// The index of the cell that `wanted`, given by `option`, names among `names`, with or without
/// its store.
///
/// # Errors
/// No cell has that name, or several do.
pub fn named(names: &[String], wanted: &str, option: &str) -> Result<usize> {
    let found = names.iter().enumerate().filter(|(_, name)| {
        let variant = name.split_once('/').map(|(_, variant)| variant);
        *name == wanted || variant == Some(wanted)
    });
    match found.collect::<Vec<_>>()[..] {
        [(index, _)] => Ok(index),
        [] => Err(anyhow!(
            "{option} {wanted}: this run has no such variant; it has\n  {}",
            names.join("\n  ")
        )),
        ref several => Err(anyhow!(
            "{option} {wanted}: several stores have it; write one of {}",
            several.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_named_with_its_store_or_without_where_one_has_it() {
        let names =
            ["rocksdb/none/a@1", "memory/none/a@1", "memory/none/b@1"].map(str::to_owned).to_vec();
        assert_eq!(wanted(&names, None).unwrap(), None);
        assert_eq!(wanted(&names, Some("memory/none/a@1")).unwrap(), Some(1));
        assert_eq!(wanted(&names, Some("none/b@1")).unwrap(), Some(2));
        let several = wanted(&names, Some("none/a@1")).unwrap_err().to_string();
        assert!(several.contains("rocksdb/none/a@1, memory/none/a@1"), "{several}");
        let none = wanted(&names, Some("none/c@1")).unwrap_err().to_string();
        assert!(none.contains("no such variant") && none.contains("memory/none/b@1"), "{none}");
    }
}
