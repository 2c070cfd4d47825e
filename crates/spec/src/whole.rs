//! The duties of a validating client beside execution, as a scenario asks for them: one by one, or all.

use crate::fault::Fault;
use crate::fields::Fields;
use variant::{BlockDuty, Durability, RootTime, TrieForm};

/// Values of keys that `whole` says where they are not said themselves, and the duties.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// End of a commit.
    pub(crate) commit: Durability,
    /// Time of the root.
    pub(crate) root: RootTime,
    /// Nodes that states store.
    pub(crate) trie: TrieForm,
    /// Duties on blocks.
    pub(crate) duties: Vec<BlockDuty>,
    /// Whether execution alone is run beside them.
    pub(crate) execution_alone: bool,
}

/// Reads `whole`, `duties` and `execution_alone`.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Whole, Fault> {
    let is_whole = fields.flag("whole")?.unwrap_or(false);
    let duties = fields.one_or_more("duties")?;
    let execution_alone = fields.flag("execution_alone")?.unwrap_or(true);
    let said = Whole {
        commit: Durability::Logged,
        root: RootTime::Nothing,
        trie: TrieForm::Nothing,
        duties,
        execution_alone,
    };
    if !is_whole {
        return Ok(said);
    }
    let duties = match fields.get("duties") {
        None => BlockDuty::ALL.to_vec(),
        Some(_) => said.duties,
    };
    let (commit, root, trie) = (Durability::Synced, RootTime::After, TrieForm::Cut);
    Ok(Whole { commit, root, trie, duties, execution_alone })
}
