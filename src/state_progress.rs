//! How far the build of a state is: its phases as stages.

use executor::state::{BuildPhase, BuildProgress};

use crate::progress::{Progress, Total};

impl BuildProgress for Progress {
    fn begin(&self, phase: BuildPhase, row_count: u64) {
        let name = match phase {
            BuildPhase::Sorting => "state: sorting rows",
            BuildPhase::Writing => "state: writing rows",
            BuildPhase::WritingAndHashing => "state: writing rows and hashing tries",
            BuildPhase::Ageing => "state: ageing rows",
            BuildPhase::Tries => "state: hashing tries",
            BuildPhase::Finishing => "state: finishing files",
            BuildPhase::Verifying => "state: verifying rows",
        };
        self.stage(name, if row_count == 0 { Total::Unknown } else { Total::Rows(row_count) });
    }

    fn advance(&self, rows: u64) {
        self.advance(rows);
    }

    fn note(&self, text: &str) {
        self.note(text);
    }
}
