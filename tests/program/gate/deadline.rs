//! A deadline, which is a claim on whole blocks, in a gate that compares execution alone.

use super::{Place, STRESS, WORK};

#[test]
fn a_deadline_that_is_broken_is_named() {
    let place = Place::new();
    // 14,000 cold reads take no machine a millisecond. Whether a regression or steal stands above
    // that is the machine's mood.
    let work = WORK.map(|word| if word == "4M" { "30M" } else { word });
    let result = place.consistent_of(&work, &["--against", STRESS, "--deadline", "1ms"]);
    let gate = &result["gate"];
    assert!(!["pass", "inconclusive"].contains(&gate["verdict"].as_str().unwrap()), "{gate:#}");
    assert_eq!(result["expects"]["claims"][0]["metric"], "ms_per_block(sequential)");
    let claim = &result["expects"]["claims"][0];
    assert_eq!(claim["verdict"], "fails");
    // The claim is on whole blocks, and what is compared is execution alone.
    let cells = gate["attempts"][0]["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| !cell["variant"].as_str().unwrap().contains("whole")));
    let work = [&work[..], &["--set", "run.whole=none"]].concat();
    let result = place.consistent_of(&work, &["--against", STRESS, "--deadline", "1ms"]);
    let claim = &result["expects"]["claims"][0];
    assert_eq!(claim["verdict"], "not judged");
    assert!(claim["reason"].as_str().unwrap().contains("execution(ms_per_block(sequential))"));
}
