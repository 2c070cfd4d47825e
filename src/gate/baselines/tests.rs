//! Tests of saving, finding and removing baselines.

use result::example;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    baselines: Baselines,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let baselines = Baselines::below(dir.path());
    Place { dir, baselines }
}

/// A result of a run that began at this second.
fn run(started_unix_s: u64, change: impl FnOnce(&mut RunResult)) -> RunResult {
    let mut result = example::sampled(6);
    result.started_unix_s = started_unix_s;
    change(&mut result);
    result
}

#[test]
fn runs_of_one_build_and_work_add_up_and_any_other_takes_their_place() {
    let place = place();
    let save =
        |result: &RunResult| place.baselines.save("main", result, Existing::Replace).unwrap();
    assert_eq!(save(&run(1, |_| ())), Saved::First);
    for (number, count) in [(2, 2), (2, 3), (3, 4)] {
        assert_eq!(save(&run(number, |_| ())), Saved::Added(count));
    }
    type Changed = fn(&mut RunResult);
    let changes: [(&str, Changed); 5] = [
        ("of another build", |result| {
            result.tool.program.commit = Some("decaf".to_owned());
        }),
        ("of another machine (host/kernel", |result| {
            result.environment.host.kernel = Some("6.2".to_owned());
        }),
        ("of other work", |result| result.workload.digest = "0x1".to_owned()),
        ("with other settings (", |result| {
            let facts = &mut result.stores[0].facts;
            facts.insert("checksums".to_owned(), "skip".into());
        }),
        ("of other variants", |result| {
            result.cells.pop();
        }),
    ];
    for (reason, change) in changes {
        save(&run(4, |_| ()));
        let files = || stored::result_files(&place.baselines.dir().join("main")).unwrap();
        let before = files().len();
        if reason == OTHER_WORK {
            let kept = place.baselines.save("main", &run(5, change), Existing::Refuse);
            assert!(kept.unwrap_err().to_string().contains("--force"));
            assert_eq!(files().len(), before);
        }
        let Saved::Replaced(count, why) = save(&run(5, change)) else { panic!("{reason}") };
        assert!(count == before && why.starts_with(reason), "{count} {why}");
        assert_eq!(files().len(), 1, "{reason}");
        assert!(matches!(save(&run(6, change)), Saved::Added(2)), "{reason}");
    }
    let names = fs::read_dir(place.baselines.dir()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [LOCK, "main"], "nothing else is left");
}

#[test]
fn results_that_cannot_be_read_are_replaced_and_the_list_says_so() {
    let place = place();
    place.baselines.save("main", &run(1, |_| ()), Existing::Replace).unwrap();
    let file = place.baselines.dir().join("main/result.json");
    fs::write(&file, "{").unwrap();
    let all = place.baselines.list().unwrap();
    assert_eq!((all.len(), all[0].byte_count, all[0].results.is_err()), (1, 1, true));
    let kept = place.baselines.save("main", &run(2, |_| ()), Existing::Refuse);
    let error = kept.unwrap_err().to_string();
    assert!(error.contains("cannot be read") && error.contains("--force"), "{error}");
    let saved = place.baselines.save("main", &run(2, |_| ()), Existing::Replace).unwrap();
    assert!(matches!(&saved, Saved::Replaced(1, why) if why.contains("cannot be read")));
    assert_eq!(place.baselines.list().unwrap()[0].results.as_ref().unwrap().len(), 1);
}

#[test]
fn only_results_are_replaced_or_removed_and_all_else_stays() {
    let place = place();
    let save = |name: &str, result| place.baselines.save(name, &result, Existing::Replace);
    save("main", run(1, |_| ())).unwrap();
    let dir = place.baselines.dir().to_owned();
    for strange in ["main/notes.txt", "file", ".saving-mine/result.json"] {
        let path = dir.join(strange);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    let other = |result: &mut RunResult| result.tool.program.commit = Some("decaf".to_owned());
    for name in ["main", "file"] {
        let error = save(name, run(2, other)).unwrap_err().to_string();
        assert!(error.contains("move it away"), "{error}");
        assert!(place.baselines.remove(name).is_err());
    }
    save("new", run(3, |_| ())).unwrap();
    place.baselines.remove("new").unwrap();
    for strange in ["main/notes.txt", "file", ".saving-mine/result.json"] {
        assert_eq!(fs::read_to_string(dir.join(strange)).unwrap(), "mine", "{strange}");
    }
    assert!(dir.join("main/result.json").exists());
}

#[test]
fn a_path_comes_before_a_name_and_each_says_which_was_taken() {
    let place = place();
    let find = |name: &str| place.baselines.find(Path::new(name));
    let error = find("main").unwrap_err().to_string();
    assert!(error.contains("cannot read main") && error.contains("none is saved"), "{error}");
    place.baselines.save("main", &run(1, |_| ()), Existing::Replace).unwrap();
    let found = find("main").unwrap();
    assert_eq!(found.path, place.baselines.dir().join("main"));
    assert!(found.is_baseline && found.note.unwrap().contains("1 result"));
    let error = find("mian").unwrap_err().to_string();
    assert!(error.contains("there are main"), "{error}");
    // Where it is a path, that is taken.
    let here = place.dir.path().join("main");
    fs::create_dir(&here).unwrap();
    let found = place.baselines.find(&here).unwrap();
    assert_eq!(found, Found { path: here, is_baseline: false, note: None });
    let path = Path::new("/nowhere/main");
    assert_eq!(place.baselines.find(path).unwrap().path, path, "as any path: its reader says");
    // In the directory of the tests, where it is there.
    place.baselines.save("src", &run(1, |_| ()), Existing::Replace).unwrap();
    let found = find("src").unwrap();
    assert_eq!((found.path.as_path(), found.is_baseline), (Path::new("src"), false));
    assert!(found.note.unwrap().contains("a path here"));
}

#[test]
fn a_removed_baseline_is_gone_and_another_stays() {
    let place = place();
    for name in ["main", "release-1.2"] {
        place.baselines.save(name, &run(1, |_| ()), Existing::Replace).unwrap();
    }
    place.baselines.remove("main").unwrap();
    let error = place.baselines.remove("main").unwrap_err().to_string();
    assert!(error.contains("no baseline main") && error.contains("release-1.2"), "{error}");
    for wrong in ["..", "", LOCK, "a/b"] {
        assert!(place.baselines.remove(wrong).is_err(), "{wrong}");
    }
    let left: Vec<_> = place.baselines.list().unwrap();
    assert_eq!(left.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["release-1.2"]);
}

#[test]
fn a_name_is_no_path_and_no_hidden_file() {
    for right in ["main", "a", "release-1.2", "7+x_y", &"n".repeat(NAME_BYTES_MAX)] {
        check_name(right).unwrap();
    }
    for wrong in ["", ".", "..", ".lock", "-x", "a/b", "a b", "ä", &"n".repeat(NAME_BYTES_MAX + 1)]
    {
        let error = check_name(wrong).unwrap_err().to_string();
        assert!(error.contains("as in main"), "{wrong}: {error}");
    }
}
