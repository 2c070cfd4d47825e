//! Tests of judging results against stored results.

use serde_json::json;

use super::*;
use result::example;

/// A result of eight rounds, each cell's times its median with some noise.
fn stored(change: impl FnOnce(&mut Value)) -> Stored {
    let mut json: Value =
        serde_json::from_str(&report::json(&example::sampled(8)).unwrap()).unwrap();
    json["environment"]["cpu"]["model"] = json!("Made Up 9000");
    json["warnings"] = json!([]);
    for (number, cell) in json["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
        for (round, sample) in cell["samples"].as_array_mut().unwrap().iter_mut().enumerate() {
            let noise = 1.0 + 1e-3 * ((round * 7 + number * 3) % 5) as f64;
            sample["wall_ns"] = json!((1e9 * (number + 1) as f64 * noise) as u64);
        }
    }
    change(&mut json);
    Stored::from_json("r.json".into(), json).unwrap()
}

fn slow(cell: usize, factor: f64) -> impl FnOnce(&mut Value) {
    move |json| {
        for sample in json["cells"][cell]["samples"].as_array_mut().unwrap() {
            let ns = sample["wall_ns"].as_f64().unwrap();
            sample["wall_ns"] = json!((ns * factor) as u64);
        }
    }
}

/// A side of these results.
fn side(results: impl IntoIterator<Item = Stored>) -> Side {
    Side::from_results("side".into(), results.into_iter().collect()).unwrap()
}

fn judged(base: &Stored, new: &Stored, times: Times) -> (Verdict, String, gate::Compared) {
    sides(&side([base.clone()]), &side([new.clone()]), times)
}

fn sides(base: &Side, new: &Side, times: Times) -> (Verdict, String, gate::Compared) {
    let Comparison { outcome, facts } = judge(base, new, 0.03, times).unwrap();
    (outcome.verdict, outcome.reason, facts)
}

fn refused(base: &Stored, new: &Stored) -> String {
    sides_refused(&side([base.clone()]), &side([new.clone()]), Times::Ratios)
}

fn sides_refused(base: &Side, new: &Side, times: Times) -> String {
    judge(base, new, 0.03, times).unwrap_err().to_string()
}

/// Six processes, each a little faster or slower, changed by `change`.
fn six(change: impl Fn(&mut Value)) -> Side {
    let process = |number: usize| {
        stored(|json| {
            json["started_unix_s"] = json!(number);
            let luck = 1.0 + 2e-3 * (number * 5 % 6) as f64;
            (0..5).for_each(|cell| slow(cell, luck)(json));
            change(json);
        })
    };
    side((0..6).map(process))
}

#[test]
fn a_result_is_equal_to_itself_and_passes_where_its_times_are_judged() {
    let (verdict, reason, compared) = judged(&stored(|_| ()), &stored(|_| ()), Times::Ratios);
    assert_eq!(verdict, Verdict::NotJudged, "{reason}");
    assert_eq!((compared.ratios.len(), compared.times.len()), (4, 5));
    assert!(compared.ratios.iter().all(|shift| shift.verdict == Verdict::Pass), "{compared:?}");
    assert!(compared.counter_count >= 15, "{compared:?}");
    let (verdict, reason, compared) = sides(&six(|_| ()), &six(|_| ()), Times::Absolute);
    assert_eq!(verdict, Verdict::Pass, "{reason}");
    assert_eq!((compared.ratios.len(), compared.times.len()), (4, 5));
    assert_eq!(compared.process_counts, [6, 6]);
}

#[test]
fn a_counter_that_was_exact_and_an_interrupted_run_are_not_passed() {
    let base = six(|_| ());
    let varying = six(|json| {
        let samples = json["cells"][0]["samples"].as_array_mut().unwrap();
        for (number, sample) in samples.iter_mut().enumerate() {
            sample["gas"] = json!(sample["gas"].as_u64().unwrap() + number as u64);
        }
    });
    let without = six(|json| json["cells"][0]["counters"] = json!(null));
    let interrupted = six(|json| json["interrupted"] = json!(true));
    for (new, told) in [
        (varying, "gas is exact in the stored results alone"),
        (without, "is exact in the stored results alone"),
        (interrupted, "was interrupted"),
    ] {
        let (verdict, reason, _) = sides(&base, &new, Times::Absolute);
        assert_eq!(verdict, Verdict::NotJudged, "{told}: {reason}");
        assert!(reason.contains(told), "{told}: {reason}");
    }
}

#[test]
fn one_process_on_a_side_is_one_value_of_its_times_and_an_error() {
    let all_slow = |json: &mut Value| (0..5).for_each(|cell| slow(cell, 1.5)(json));
    let one = || side([stored(all_slow)]);
    for (base, new) in [(side([stored(|_| ())]), one()), (six(|_| ()), one()), (one(), six(|_| ()))]
    {
        let error = sides_refused(&base, &new, Times::Absolute);
        assert!(error.contains("side has 1") && error.contains("--processes 6"), "{error}");
    }
    let error = can_be_judged(&one(), Times::Absolute).unwrap_err().to_string();
    assert!(error.contains("six runs into the baseline's directory"), "{error}");
    can_be_judged(&six(all_slow), Times::Absolute).unwrap();
    can_be_judged(&one(), Times::Ratios).unwrap();
}

#[test]
fn sides_with_nothing_in_common_are_an_error_and_no_green_run() {
    // A result as of a machine with another number of CPUs.
    let other_threads = stored(|json| {
        for cell in json["cells"].as_array_mut().unwrap() {
            let variant = cell["variant"].as_str().unwrap().replace("@", "@9");
            cell["variant"] = json!(variant);
        }
    });
    let error = refused(&stored(|_| ()), &other_threads);
    assert!(
        error.contains("no variant is in all results") && error.contains("--threads"),
        "{error}"
    );
    let error = refused(&other_threads, &stored(|_| ()));
    assert!(error.contains("no variant is in all results"), "{error}");
    // A variant without a sample has nothing to compare.
    let without = stored(|json| {
        for cell in json["cells"].as_array_mut().unwrap() {
            cell["samples"] = json!([]);
        }
    });
    assert!(refused(&stored(|_| ()), &without).contains("no variant is in all results"));
    // A counter that varies within a run is not exact, and is not compared.
    let varying = stored(|json| {
        for cell in json["cells"].as_array_mut().unwrap() {
            cell["counters"] = Value::Null;
            for (number, sample) in cell["samples"].as_array_mut().unwrap().iter_mut().enumerate() {
                for counter in ["gas", "unique_keys", "store_reads"] {
                    sample[counter] = json!(number);
                }
            }
        }
    });
    let error = refused(&varying, &stored(|_| ()));
    assert!(error.contains("no counter in common"), "{error}");
}

#[test]
fn a_variant_that_the_new_side_lacks_is_not_passed_and_a_new_one_hinders_no_pass() {
    let all = || six(|_| ());
    let fewer = || six(|json| drop(json["cells"].as_array_mut().unwrap().remove(4)));
    let (verdict, reason, _) = sides(&all(), &fewer(), Times::Absolute);
    assert_eq!(verdict, Verdict::NotJudged);
    assert!(reason.contains("is in side alone"), "{reason}");
    assert_eq!(sides(&fewer(), &all(), Times::Absolute).0, Verdict::Pass);
}

#[test]
fn variants_that_one_side_lacks_are_named_and_shown() {
    let fewer = stored(|json| drop(json["cells"].as_array_mut().unwrap().remove(4)));
    for (base, new) in [(stored(|_| ()), fewer.clone()), (fewer.clone(), stored(|_| ()))] {
        let (verdict, _, compared) = judged(&base, &new, Times::Ratios);
        assert_eq!((verdict, compared.ratios.len()), (Verdict::NotJudged, 3));
        let [only] = compared.only_in_one.as_slice() else { panic!("{compared:?}") };
        assert!(only.contains("batched-io"), "{only}");
        let mut result = example::gate::passed();
        result.gate.baseline = Some(compared.clone());
        let page = report::gate(&result, None, 200, report::Paint::Plain);
        assert!(page.contains("unpaired") && page.contains(only), "{page}");
    }
}

/// The whole row that a run has by default, on top of the others.
fn with_whole_row(json: &mut Value) {
    let cells = json["cells"].as_array_mut().unwrap();
    let mut whole = cells[0].clone();
    let name = whole["variant"].as_str().unwrap().replace('@', "+root-after+whole@");
    (whole["variant"], whole["duties"]) = (json!(name), json!(["recover"]));
    cells.insert(0, whole);
}

#[test]
fn whole_rows_are_judged_beside_execution_alone_whose_ratios_stay_those_of_before() {
    let (old, new) = (stored(|_| ()), stored(with_whole_row));
    let (verdict, _, before) = judged(&old, &old, Times::Ratios);
    let of = |compared: &gate::Compared| -> Vec<String> {
        compared.ratios.iter().map(|shift| shift.variant.clone()).collect()
    };
    // A result of before there were whole rows: they are named, and nothing else changes.
    let (_, _, against_old) = judged(&old, &new, Times::Ratios);
    assert_eq!((of(&against_old), &against_old.reference), (of(&before), &before.reference));
    assert!(against_old.only_in_one[0].contains("+whole@"), "{:?}", against_old.only_in_one);
    let (with_whole, _, both) = judged(&new, &new, Times::Ratios);
    assert_eq!((with_whole, &both.reference), (verdict, &before.reference));
    assert_eq!(of(&both)[..of(&before).len()], of(&before));
    assert!(of(&both).last().unwrap().contains("+whole@"), "{:?}", of(&both));
}

#[test]
fn results_of_two_dirty_builds_are_no_side() {
    let of = |number: usize, commit: &str, hash: &str| {
        stored(|json| {
            json["started_unix_s"] = json!(number);
            (json["tool"]["commit"], json["tool"]["binary_hash"]) = (json!(commit), json!(hash));
        })
    };
    let side = |results: [Stored; 2]| Side::from_results("side".into(), results.into());
    assert!(side([of(1, "c0ffee", "1"), of(2, "c0ffee", "2")]).is_ok());
    assert!(side([of(1, "c0ffee-dirty", "1"), of(2, "c0ffee-dirty", "1")]).is_ok());
    let error = side([of(1, "c0ffee-dirty", "1a"), of(2, "c0ffee-dirty", "2b")]).unwrap_err();
    assert!(error.to_string().contains("different builds"), "{error}");
    assert!(error.to_string().contains("c0ffee-dirty, binary 2b"), "{error}");
    let error = side([of(1, "c0ffee", "1"), of(1, "c0ffee", "1")]).unwrap_err();
    assert!(error.to_string().contains("are the same result"), "{error}");
}

#[test]
fn a_cold_disk_read_twice_is_a_regression_of_its_counts() {
    let twice = stored(|json| {
        for cell in json["cells"].as_array_mut().unwrap() {
            for sample in cell["samples"].as_array_mut().unwrap() {
                let bytes = sample["device_read_bytes"].as_u64().unwrap();
                sample["device_read_bytes"] = json!(2 * bytes);
            }
        }
    });
    let (verdict, reason, compared) = judged(&stored(|_| ()), &twice, Times::Ratios);
    assert_eq!(verdict, Verdict::Regression);
    assert!(reason.contains(" bytes: +100.0 %"), "{reason}");
    let bytes = compared.counts.iter().filter(|count| count.metric == Metric::Bytes);
    assert_eq!(bytes.count(), 5);
    // A warm run reads from the disk the blocks that its cache did not hold.
    let warm = |mut stored: Stored| {
        for cell in &mut stored.result.cells {
            cell.cache.want = Some(CacheMode::Warm);
        }
        stored
    };
    let (verdict, _, compared) = judged(&warm(stored(|_| ())), &warm(twice), Times::Ratios);
    assert_eq!((verdict, compared.counts.len()), (Verdict::NotJudged, 0));
}

#[test]
fn a_variant_that_lost_against_the_others_is_a_regression_and_is_named() {
    let (verdict, reason, _) = judged(&stored(|_| ()), &stored(slow(3, 1.1)), Times::Ratios);
    assert_eq!(verdict, Verdict::Regression);
    assert!(reason.contains("batched-io") && reason.contains("+10.0 %"), "{reason}");
}

#[test]
fn all_slower_alike_is_seen_in_times_only_and_only_on_one_machine() {
    let all_slow = |json: &mut Value| (0..5).for_each(|cell| slow(cell, 1.1)(json));
    let (base, new) = (six(|_| ()), six(all_slow));
    let (verdict, reason, _) = sides(&base, &new, Times::Ratios);
    assert_eq!(verdict, Verdict::NotJudged);
    assert!(reason.contains(" takes 1.10 times as long as before"), "{reason}");
    let (verdict, reason, _) = sides(&base, &new, Times::Absolute);
    assert_eq!(verdict, Verdict::Regression);
    assert!(reason.contains(" time: +10.0 %"), "{reason}");
    let elsewhere = six(|json| {
        all_slow(json);
        json["environment"]["cpu"]["model"] = json!("Another");
    });
    let (verdict, _, compared) = sides(&base, &elsewhere, Times::Absolute);
    assert_eq!((verdict, compared.times.len()), (Verdict::NotJudged, 5));
    assert!(compared.times_note.contains("cpu/model"), "{}", compared.times_note);
}

#[test]
fn one_read_more_changes_the_work_and_no_time_is_looked_at() {
    let new = stored(|json| {
        slow(3, 2.0)(json);
        for sample in json["cells"][0]["samples"].as_array_mut().unwrap() {
            let reads = sample["store_reads"].as_u64().unwrap();
            sample["store_reads"] = json!(reads + 1);
        }
    });
    let (verdict, reason, compared) = judged(&stored(|_| ()), &new, Times::Absolute);
    assert_eq!(verdict, Verdict::WorkChanged);
    assert!(reason.contains("store_reads"), "{reason}");
    assert!(compared.ratios.is_empty());
}

#[test]
fn few_samples_are_an_error_with_their_number_and_stolen_time_decides_nothing() {
    let few = stored(|json| {
        for cell in json["cells"].as_array_mut().unwrap() {
            cell["samples"].as_array_mut().unwrap().truncate(5);
        }
    });
    for (base, new) in [(&few, &stored(|_| ())), (&stored(|_| ()), &few)] {
        let error = refused(base, new);
        assert!(error.contains("side has 5") && error.contains("side has 8"), "{error}");
        assert!(error.contains("six samples") && error.contains("--samples 10"), "{error}");
    }
    // A regression of another variant stands, also beside variants that cannot be judged.
    let one_short = stored(|json| {
        slow(3, 1.5)(json);
        json["cells"][1]["samples"].as_array_mut().unwrap().truncate(5);
    });
    let (verdict, reason, _) = judged(&stored(|_| ()), &one_short, Times::Ratios);
    assert_eq!(verdict, Verdict::Regression, "{reason}");
    let stolen = stored(|json| json["warnings"] = json!(["the hypervisor took 90 ms"]));
    let (verdict, ..) = judged(&stolen, &stored(slow(3, 1.5)), Times::Ratios);
    assert_eq!(verdict, Verdict::Untrusted);
}

/// The same samples as of this number of databases.
fn on_databases(json: &mut Value, count: usize) {
    let all: Vec<usize> = (0..count).collect();
    let workload = |n: &usize| {
        let mut workload = json["workload"].clone();
        (workload["seed"], workload["digest"]) = (json!(n), json!(format!("d{n}")));
        json!({ "workload": workload, "device": null, "stores": [] })
    };
    json["databases"] = all.iter().map(workload).collect();
    for cell in json["cells"].as_array_mut().unwrap() {
        let own = cell["samples"].as_array().unwrap().len() / count;
        let counters = cell["counters"].clone();
        let of = |n: &usize| {
            json!({
                "seed": n, "sample_count": own, "counters": counters, "mgas_per_s": {},
                "ms_per_batch": {}, "tx_latency_ns": { "count": 0 }
            })
        };
        cell["databases"] = json!({
            "each": all.iter().map(of).collect::<Vec<_>>(),
            "time_ratio_over": "", "time_ratio": {}
        });
    }
}

#[test]
fn each_database_is_one_value_and_has_counters_of_its_own() {
    let of = |count: usize, factor: f64| {
        stored(|json| {
            slow(3, factor)(json);
            on_databases(json, count);
        })
    };
    let (verdict, reason, _) = judged(&of(8, 1.0), &of(8, 1.1), Times::Ratios);
    assert_eq!(verdict, Verdict::Regression);
    assert!(reason.contains("+10.0 %"), "{reason}");
    // Four with two each say less: there is no interval.
    let error = refused(&of(4, 1.0), &of(4, 1.1));
    assert!(error.contains("side has 4") && error.contains("--databases 6"), "{error}");
    let mut new = of(4, 1.0);
    for sample in 6..8 {
        new.result.cells[0].samples[sample].store_reads = 1;
    }
    let (verdict, reason, compared) = judged(&of(4, 1.0), &new, Times::Ratios);
    assert_eq!((verdict, compared.counter_changes.len()), (Verdict::WorkChanged, 1));
    assert!(reason.contains("on database 3 store_reads"), "{reason}");
    let error = refused(&of(4, 1.0), &of(8, 1.0));
    assert!(error.contains("databases of seeds 0, 1, 2, 3"), "{error}");
}

#[test]
fn databases_that_differ_but_equally_in_both_results_decide() {
    // Six, the last of which takes 5 % longer than the first; each time by some noise.
    let of = |run: usize, factor: f64| {
        stored(|json| {
            slow(3, factor)(json);
            for (place, cell) in json["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
                let samples = cell["samples"].as_array_mut().unwrap();
                samples.truncate(6);
                for (database, sample) in samples.iter_mut().enumerate() {
                    let apart = if place == 3 { 0.01 * database as f64 } else { 0.0 };
                    let noise = 1e-3 * ((database * 5 + place * 3 + run) % 4) as f64;
                    let ns = sample["wall_ns"].as_f64().unwrap();
                    sample["wall_ns"] = json!((ns * (1.0 + apart) * (1.0 + noise)) as u64);
                }
            }
            on_databases(json, 6);
        })
    };
    let (verdict, reason, _) = judged(&of(0, 1.0), &of(1, 1.0), Times::Ratios);
    assert_eq!(verdict, Verdict::NotJudged, "{reason}");
    let (verdict, reason, _) = judged(&of(0, 1.0), &of(1, 1.08), Times::Ratios);
    assert_eq!(verdict, Verdict::Regression, "{reason}");
    // Each time has one value, the process's.
    let [base, new] = [0, 1].map(|run| side([of(run, 1.0)]));
    assert!(sides_refused(&base, &new, Times::Absolute).contains("--processes 6"));
}

#[test]
fn a_database_without_the_reference_has_no_ratio_and_its_time_is_taken_for_none() {
    let whole = stored(|json| on_databases(json, 8));
    // Interrupted before the reference's turn: on the third, and on the last database.
    for cut in [2, 7] {
        let short = stored(|json| {
            on_databases(json, 8);
            let reference = &mut json["cells"][0];
            reference["samples"].as_array_mut().unwrap().remove(cut);
            reference["databases"]["each"].as_array_mut().unwrap().remove(cut);
        });
        for (base, new) in [(&whole, &short), (&short, &whole)] {
            let (verdict, reason, compared) = judged(base, new, Times::Ratios);
            assert_eq!(verdict, Verdict::NotJudged, "{reason}");
            let changes = compared.ratios.iter().filter_map(|shift| shift.change);
            assert!(changes.clone().count() == 4 && changes.into_iter().all(|c| c == 0.0));
        }
    }
}

#[test]
fn settings_that_differ_are_named_before_the_change_that_they_may_have_made() {
    let skips = |json: &mut Value| {
        let facts = json["stores"][0]["facts"].as_object_mut().unwrap();
        facts.insert("checksums".to_owned(), json!("skip"));
        (slow(3, 1.5))(json);
    };
    let verifies = stored(|json| {
        let facts = json["stores"][0]["facts"].as_object_mut().unwrap();
        facts.insert("checksums".to_owned(), json!("verify"));
    });
    let (verdict, reason, compared) = judged(&verifies, &stored(skips), Times::Ratios);
    assert_eq!(verdict, Verdict::Regression);
    let [change] = compared.setting_changes.as_slice() else { panic!("{compared:?}") };
    assert!(change.ends_with("checksums: verify → skip"), "{change}");
    assert!(reason.starts_with(&format!("settings differ ({change}); ")), "{reason}");
    assert!(reason.contains(" relative to "), "{reason}");
    let (_, reason, compared) = judged(&verifies, &verifies, Times::Ratios);
    assert!(compared.setting_changes.is_empty() && !reason.contains("settings"), "{reason}");
}

#[test]
fn other_work_is_refused() {
    let other = stored(|json| json["workload"]["digest"] = json!("0x1"));
    let error = refused(&stored(|_| ()), &other);
    assert!(error.contains("different work"), "{error}");
}
