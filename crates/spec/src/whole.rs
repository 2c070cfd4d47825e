//! Whole rows: rows of a result that run whole blocks, with all duties of a validating client. Also
//! the duties, root and tries of these rows where the scenario does not set them. `read.rs` calls
//! it.

use crate::fault::{Fault, Remedy};
use crate::fields::Fields;
use crate::scenario::{RootSpec, RunSpec, WholeSpec};
use variant::{BlockDuties, BlockDuty, Durability, RootTime, RootWay, TrieForm, WholeRows};

/// Default format of the trie nodes that a state stores for whole rows: the smallest of the formats
/// that clients have.
const DEFAULT_TRIE_FORM: TrieForm = TrieForm::RethLike;
/// Default time of the root of whole rows.
const DEFAULT_ROOT_TIME: RootTime = RootTime::After;

/// Keys of a run whose defaults depend on `whole`.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// The choice of whole rows.
    pub(crate) spec: WholeSpec,
    /// Time of the root of the run's rows. With one whole row of each design, it is that of the
    /// other rows.
    pub(crate) root: RootTime,
    /// Nodes that states store.
    pub(crate) trie: TrieForm,
    /// Duties on blocks.
    pub(crate) duties: Vec<BlockDuty>,
}

/// Reads `whole`, and with it `root`, `trie` and `duties`.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Whole, Fault> {
    let root = fields.named::<RootTime>("root")?;
    let trie = fields.named::<TrieForm>("trie")?;
    let duties = fields.one_or_more("duties")?;
    let duties = fields.get("duties").map(|_| duties);
    let declines = root == Some(RootTime::Nothing) || trie == Some(TrieForm::Nothing);
    let rows = fields.named("whole")?;
    let rows = rows.or((declines || duties.is_some()).then_some(WholeRows::Nothing));
    Ok(match rows {
        None | Some(WholeRows::Nothing) => Whole {
            spec: WholeSpec { rows, root: RootTime::Nothing },
            root: root.unwrap_or_default(),
            trie: trie.unwrap_or_default(),
            duties: duties.unwrap_or_default(),
        },
        Some(WholeRows::One | WholeRows::All) => {
            let whole_root = root.unwrap_or(DEFAULT_ROOT_TIME);
            let all_are_whole = rows == Some(WholeRows::All);
            Whole {
                spec: WholeSpec { rows, root: whole_root },
                root: if all_are_whole { whole_root } else { root.unwrap_or_default() },
                trie: trie.unwrap_or(DEFAULT_TRIE_FORM),
                duties: duties.unwrap_or_else(|| BlockDuty::ALL.to_vec()),
            }
        }
    })
}

/// Checks that whole rows have all duties and a root, and that commits which must be durable have a
/// log.
pub(crate) fn check(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    let are_whole = matches!(spec.whole.rows, Some(WholeRows::One | WholeRows::All));
    if are_whole && spec.whole.root == RootTime::Nothing {
        let rule = "a block is whole with the root of its state only";
        let remedy = Remedy::advice("write run.root = \"after\", or leave run.whole out");
        return Err(fields.refusal("root", rule, remedy));
    }
    if are_whole && spec.block_duties() != BlockDuties::all() {
        let rule = "a whole block has all duties, and these are some of them";
        let remedy = Remedy::advice("leave run.duties out, or leave run.whole out");
        return Err(fields.refusal("duties", rule, remedy));
    }
    if spec.commit == Durability::Unlogged && spec.duties.contains(&BlockDuty::Sync) {
        let rule =
            "a commit without a log stays in memory, and whole blocks end with a durable one";
        let remedy = Remedy::advice(
            "write run.commit = \"logged\", or run.whole = \"none\" and duties without sync",
        );
        return Err(fields.refusal("commit", rule, remedy));
    }
    Ok(())
}

impl RunSpec {
    /// Returns whether the scenario leaves the choice of whole rows to the verb.
    pub const fn lets_verb_choose_whole(&self) -> bool {
        self.whole.rows.is_none()
    }

    /// Returns the same run with one whole row of each design on each store, if the scenario does
    /// not choose whole rows. Other rows of the run stay as they are.
    #[must_use]
    pub fn with_whole_rows(self) -> Self {
        if !self.lets_verb_choose_whole() {
            return self;
        }
        let RootSpec { time, .. } = self.root;
        let root = if time == RootTime::Nothing { DEFAULT_ROOT_TIME } else { time };
        let trie = if self.trie == TrieForm::Nothing { DEFAULT_TRIE_FORM } else { self.trie };
        let whole = WholeSpec { rows: Some(WholeRows::One), root };
        Self { whole, trie, duties: BlockDuty::ALL.to_vec(), ..self }
    }

    /// Returns all duties on blocks of the run, with the duties that they need.
    pub fn block_duties(&self) -> BlockDuties {
        BlockDuties::of(&self.duties)
    }

    /// Returns how whole rows compute their root in a run with one whole row of each design. The
    /// time is that of whole rows. Shards, reads and cache are the run's first of each.
    pub fn whole_root(&self) -> RootWay {
        let ways = RootSpec { time: self.whole.root, ..self.root.clone() }.ways();
        ways.into_iter().next().unwrap_or_default()
    }
}
