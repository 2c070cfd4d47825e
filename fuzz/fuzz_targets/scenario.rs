//! Any text is a scenario or an error; a scenario survives being written and read.
#![no_main]

use spec::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(scenario) = Scenario::parse("fuzz.toml", text, &[]) {
        let written = scenario.to_toml();
        let read = Scenario::parse("written.toml", &written, &[]);
        assert_eq!(read.as_ref().ok(), Some(&scenario), "{written}");
    }
});
