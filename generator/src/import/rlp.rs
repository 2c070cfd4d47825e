//! RLP lists of fields that are encoded one by one.

use alloy_rlp::Header;

/// The RLP list of this payload.
pub(super) fn list(payload: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 4);
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    out
}
