//! The JSON-RPC methods of a node that this crate calls, one function each. A call ends within a
//! time limit, and its error has a kind. Keeps no state of a load, and does not repeat calls.

use std::{fmt, time::Duration};

use alloy_json_rpc::{RpcRecv, RpcSend};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    error::{CallError, ErrorKind, SendError, one_line},
    url::NodeUrl,
};

mod link;
mod post;

use link::Link;

const NO_PARAMS: [(); 0] = [];

/// A block without its transactions' content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    pub(crate) number: U64,
    pub(crate) hash: B256,
    pub(crate) parent_hash: B256,
    pub(crate) timestamp: U64,
    pub(crate) gas_used: U64,
    pub(crate) gas_limit: U64,
    #[serde(default)]
    pub(crate) base_fee_per_gas: Option<U64>,
    #[serde(default)]
    pub(crate) transactions: Vec<B256>,
    /// Only headers of Amsterdam have this hash (EIP-7928).
    #[serde(default)]
    pub(crate) block_access_list_hash: Option<B256>,
}

/// The outcome of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receipt {
    pub(crate) transaction_hash: B256,
    #[serde(default)]
    pub(crate) status: Option<U64>,
    pub(crate) gas_used: U64,
    #[serde(default)]
    pub(crate) contract_address: Option<Address>,
}

impl Receipt {
    /// Whether the transaction did not revert.
    pub(crate) fn succeeded(&self) -> bool {
        self.status == Some(U64::from(1))
    }
}

/// Counts of transactions in a node's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct PoolStatus {
    /// Number of transactions that may go into the next block.
    pub(crate) pending: U64,
    /// Number of transactions that wait for earlier transactions of their senders.
    #[serde(default)]
    pub(crate) queued: U64,
}

/// A connection to a node.
#[derive(Clone)]
pub(crate) struct Node {
    link: Link,
    url: NodeUrl,
    timeout: Duration,
}

/// Leaves out the connection, which has the whole URL.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("url", &self.url)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// Connects to `url`. Over HTTP, this call sends nothing.
    ///
    /// # Errors
    /// No client can be made, or no node opens a WebSocket at the URL in time.
    pub(crate) async fn connect(url: &NodeUrl, limit: Duration) -> Result<Self, SendError> {
        let link = Link::connect(url, limit).await;
        let link = link.map_err(|error| SendError::Connect(error.message))?;
        Ok(Self { link, url: url.clone(), timeout: limit })
    }

    async fn call<P: RpcSend, R: RpcRecv>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<R, CallError> {
        let call = async {
            let opened = self.link.opened().await;
            let answer = opened.client.request::<P, R>(method, params).await;
            answer.inspect_err(|error| self.link.failed(&opened, error))
        };
        match timeout(self.timeout, call).await {
            Err(_) => Err(self.link.failure().unwrap_or_else(|| CallError::timeout(self.timeout))),
            Ok(answer) => answer.map_err(|error| CallError::of(&error, &self.url)),
        }
    }

    pub(crate) async fn chain_id(&self) -> Result<u64, CallError> {
        self.call::<_, U64>("eth_chainId", NO_PARAMS).await.map(|id| id.to())
    }

    pub(crate) async fn client_version(&self) -> Result<String, CallError> {
        self.call::<_, String>("web3_clientVersion", NO_PARAMS)
            .await
            .map(|version| one_line(&version))
    }

    /// Accounts whose keys the node has.
    pub(crate) async fn accounts(&self) -> Result<Vec<Address>, CallError> {
        self.call("eth_accounts", NO_PARAMS).await
    }

    pub(crate) async fn balance(&self, account: Address) -> Result<U256, CallError> {
        self.call("eth_getBalance", (account, "latest")).await
    }

    /// Next nonce of an account, including its transactions in the pool.
    pub(crate) async fn next_nonce(&self, account: Address) -> Result<u64, CallError> {
        self.call::<_, U64>("eth_getTransactionCount", (account, "pending")).await.map(|n| n.to())
    }

    /// Number of an account's transactions in blocks.
    pub(crate) async fn mined_nonce(&self, account: Address) -> Result<u64, CallError> {
        self.call::<_, U64>("eth_getTransactionCount", (account, "latest")).await.map(|n| n.to())
    }

    pub(crate) async fn send_raw(&self, raw: Bytes) -> Result<B256, CallError> {
        self.call("eth_sendRawTransaction", (raw,)).await
    }

    /// Lets the node sign and send a payment from an account whose key it has.
    pub(crate) async fn pay_from_own(
        &self,
        from: Address,
        to: Address,
        value: U256,
    ) -> Result<B256, CallError> {
        let payment = json!({"from": from, "to": to, "value": value});
        self.call("eth_sendTransaction", (payment,)).await
    }

    pub(crate) async fn estimate_gas(&self, tx: Value) -> Result<u64, CallError> {
        self.call::<_, U64>("eth_estimateGas", (tx,)).await.map(|gas| gas.to())
    }

    /// Whether the node has a transaction, in a block or in its pool.
    pub(crate) async fn knows(&self, hash: B256) -> Result<bool, CallError> {
        let found: Option<Value> = self.call("eth_getTransactionByHash", (hash,)).await?;
        Ok(found.is_some_and(|tx| !tx.is_null()))
    }

    pub(crate) async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, CallError> {
        self.call("eth_getTransactionReceipt", (hash,)).await
    }

    pub(crate) async fn latest(&self) -> Result<Header, CallError> {
        let latest =
            self.call::<_, Option<Header>>("eth_getBlockByNumber", ("latest", false)).await?;
        let message = "there is no latest block".to_owned();
        latest.ok_or(CallError { kind: ErrorKind::Malformed, message })
    }

    pub(crate) async fn block(&self, number: u64) -> Result<Option<Header>, CallError> {
        let wanted = U64::from(number);
        let found: Option<Header> = self.call("eth_getBlockByNumber", (wanted, false)).await?;
        match found {
            Some(header) if header.number != wanted => {
                let message = format!("asked for block {number}, it tells of {}", header.number);
                Err(CallError { kind: ErrorKind::Malformed, message })
            }
            found => Ok(found),
        }
    }

    /// Receipts of all transactions of a block: by one call for the block, else by one call for
    /// each transaction.
    pub(crate) async fn receipts(&self, block: &Header) -> Result<Vec<Receipt>, CallError> {
        let all: Result<Option<Vec<Receipt>>, _> =
            self.call("eth_getBlockReceipts", (block.hash,)).await;
        match all {
            Ok(Some(receipts)) => Ok(receipts),
            // The node does not know the method, or takes only block numbers.
            Ok(None) => self.receipts_one_by_one(block).await,
            Err(error) if matches!(error.kind, ErrorKind::Rejected | ErrorKind::Internal) => {
                self.receipts_one_by_one(block).await
            }
            // Other kinds do not mean that the method is missing. A call for each transaction would
            // not help, least of all against a rate limit.
            Err(error) => Err(error),
        }
    }

    async fn receipts_one_by_one(&self, block: &Header) -> Result<Vec<Receipt>, CallError> {
        let mut receipts = Vec::with_capacity(block.transactions.len());
        for hash in &block.transactions {
            let message = format!("no receipt of {hash}, which is in block {}", block.number);
            let missing = CallError { kind: ErrorKind::Malformed, message };
            receipts.push(self.receipt(*hash).await?.ok_or(missing)?);
        }
        Ok(receipts)
    }

    pub(crate) async fn pool_status(&self) -> Result<PoolStatus, CallError> {
        self.call("txpool_status", NO_PARAMS).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_shows_no_secret_of_its_url_while_debugging() {
        let url = NodeUrl::new("http://me:PASSWORD@127.0.0.1:9/v3/0123456789KEY");
        let node = Node::connect(&url, Duration::from_secs(1)).await.unwrap();
        let shown = format!("{node:?}");
        assert!(shown.contains("127.0.0.1:9"), "{shown}");
        assert!(!shown.contains("KEY") && !shown.contains("PASSWORD"), "{shown}");
    }

    #[test]
    fn a_block_and_a_receipt_are_read_from_what_nodes_answer() {
        let header: Header = serde_json::from_value(json!({
            "number": "0x7", "hash": B256::ZERO, "parentHash": B256::ZERO, "timestamp": "0x1",
            "gasUsed": "0x5208", "gasLimit": "0x1c9c380", "transactions": [B256::ZERO], "size": "0x1",
        }))
        .unwrap();
        assert_eq!((header.number, header.base_fee_per_gas), (U64::from(7), None));
        let receipt = |status: Value| -> Receipt {
            let text = json!({
                "transactionHash": B256::ZERO, "gasUsed": "0x1", "status": status, "logs": [],
            });
            serde_json::from_value(text).unwrap()
        };
        assert!(receipt(json!("0x1")).succeeded());
        assert!(!receipt(json!("0x0")).succeeded());
    }
}
