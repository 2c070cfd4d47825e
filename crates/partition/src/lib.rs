//! Partitions a batch's transactions over shards of execution, for engines on shards and for
//! descriptions of a workload. Transactions are the vertices of a hypergraph, keys its hyperedges;
//! both are plain numbers here. The partitioner `fanout` looks for a low fanout, the mean number of
//! shards that touch a shared key, with shards of about equal gas. The baselines to compare it with
//! are round-robin, by sender and by component. A partition is a function of its input and the
//! seed. `simulate` predicts the time of a partitioned batch.
//!
//! ```
//! use partition::{Access, Partition, Quality, Transactions, Tx};
//! use variant::Partitioner;
//!
//! // Four transactions of equal gas: the first and third touch one key, the others another key.
//! let mut transactions = Transactions::default();
//! for tx in 0..4 {
//!     let accesses = vec![Access { key: tx % 2, writes: true }];
//!     transactions.push(Tx { gas: 21_000, sender: tx, accesses });
//! }
//! let found = Partition::new(&transactions, Partitioner::Fanout, 2, 1);
//! assert_eq!(found.shard_of(0), found.shard_of(2));
//! assert_eq!(Quality::new(&transactions, &found).fanout(), 1.0);
//! ```

mod balance;
mod baselines;
mod cluster;
mod hypergraph;
mod multilevel;
mod order;
mod partition;
mod placement;
mod quality;
mod random;
mod rows;
mod search;
pub mod simulate;
mod start;
mod traffic;
mod transactions;

pub use balance::gas_limit;
pub use hypergraph::Hypergraph;
pub use order::shard_order;
pub use partition::{Partition, SHARD_COUNT_MAX};
pub use quality::Quality;
pub use traffic::Traffic;
pub use transactions::{Access, Transactions, Tx};
