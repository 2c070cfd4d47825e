//! Tests of signing and recovering.

use alloy_primitives::{Bytes, address};
use workload::{
    Batch, Block, Genesis, SenderFamily, TxType,
    block::{Authorization, IndexRange},
};

use super::*;

/// Two batches with transactions of every kind, by senders of a family.
fn workload() -> Workload {
    let family =
        SenderFamily { first_secret: B256::with_last_byte(1), count: 10, balance: U256::ZERO };
    let senders = family.addresses(0..10).unwrap();
    let kinds =
        [TxType::Legacy, TxType::AccessList, TxType::DynamicFee, TxType::Blob, TxType::SetCode];
    let mut batches = Vec::new();
    for batch in 0..2 {
        let transactions = (0..40_u64).map(|index| Transaction {
            tx_type: kinds[index as usize % 5],
            sender: senders[index as usize % 10],
            nonce: index / 10 + batch * 4,
            to: (index % 3 > 0).then_some(Address::repeat_byte(7)),
            input: Bytes::from(vec![3; index as usize * 9]),
            access_list: vec![(Address::repeat_byte(8), vec![B256::repeat_byte(9)])],
            authorizations: vec![
                Authorization { authority: Some(senders[3]), ..Authorization::default() },
                Authorization { authority: None, ..Authorization::default() },
            ],
            ..Transaction::default()
        });
        let mut of = Batch {
            blocks: vec![Block { transactions: transactions.collect(), ..Block::default() }],
            ..Batch::default()
        };
        of.plan.senders = vec![IndexRange { family: 0, start: 0, count: 10 }];
        batches.push(of);
    }
    let genesis = Genesis { senders: vec![family], ..Genesis::default() };
    Workload { chain_id: 7, genesis, batches, ..Workload::default() }
}

static GO: AtomicBool = AtomicBool::new(false);

#[test]
fn who_signed_is_recovered_on_any_number_of_threads() {
    let workload = workload();
    let signatures = sign(&workload, 3, &GO).unwrap();
    assert_eq!(signatures, sign(&workload, 1, &GO).unwrap(), "signing is deterministic");
    for thread_count in [1, 2, 8] {
        let recovered = recover(&workload, &signatures, thread_count, &GO).unwrap();
        assert_eq!((recovered.tx_count, recovered.latencies.histogram().len()), (80, 80));
        let work = recovered.latencies.total();
        assert!(work > Duration::ZERO && work <= recovered.wall * thread_count as u32);
    }
}

#[test]
fn a_transaction_of_another_sender_or_with_another_field_is_found() {
    let workload = workload();
    let signatures = sign(&workload, 2, &GO).unwrap();
    for change in [
        |tx: &mut Transaction| tx.sender = Address::repeat_byte(1),
        |tx: &mut Transaction| tx.nonce += 1,
        |tx: &mut Transaction| tx.input = Bytes::from_static(b"other"),
    ] {
        let mut other = workload.clone();
        change(&mut other.batches[1].blocks[0].transactions[13]);
        let error = recover(&other, &signatures, 2, &GO).unwrap_err();
        assert!(matches!(error, RecoverError::Mismatch { tx: 53, .. }), "{error}");
    }
    let mut other = workload.clone();
    let authorizations = &mut other.batches[0].blocks[0].transactions[4].authorizations;
    authorizations[0].authority = Some(Address::repeat_byte(1));
    let error = recover(&other, &signatures, 2, &GO).unwrap_err();
    assert!(matches!(error, RecoverError::Mismatch { tx: 4, .. }), "{error}");
    let elsewhere = Workload { chain_id: 8, ..workload };
    let error = recover(&elsewhere, &signatures, 2, &GO).unwrap_err();
    assert!(matches!(error, RecoverError::Mismatch { .. }), "{error}");
}

#[test]
fn of_several_failures_that_of_the_lowest_transaction_is_reported_on_any_number_of_threads() {
    let mut workload = workload();
    let signatures = sign(&workload, 2, &GO).unwrap();
    for index in [15, 16, 39] {
        workload.batches[0].blocks[0].transactions[index].sender = Address::repeat_byte(1);
        workload.batches[1].blocks[0].transactions[index].sender = Address::repeat_byte(1);
    }
    for thread_count in [1, 2, 8] {
        for _ in 0..20 {
            let error = recover(&workload, &signatures, thread_count, &GO).unwrap_err();
            assert!(matches!(error, RecoverError::Mismatch { tx: 15, .. }), "{error}");
            let error = sign(&workload, thread_count, &GO).unwrap_err();
            assert!(matches!(error, RecoverError::UnknownSecret { tx: 15, .. }), "{error}");
        }
    }
}

#[test]
fn a_sender_of_no_family_cannot_be_signed_for_and_is_named() {
    let mut workload = workload();
    let stranger = address!("00000000000000000000000000000000000000aa");
    workload.batches[0].blocks[0].transactions[17].sender = stranger;
    let error = sign(&workload, 2, &GO).unwrap_err();
    assert_eq!(error, RecoverError::UnknownSecret { tx: 17, account: stranger });
    assert!(error.to_string().contains("without recover_senders"), "{error}");
}

#[test]
fn signatures_that_no_client_takes_are_invalid() {
    let workload = workload();
    let good = sign(&workload, 1, &GO).unwrap();
    let order = HALF_ORDER + HALF_ORDER + U256::ONE;
    let wrong = |change: fn(&mut Signature, U256)| {
        let mut signatures = good.clone();
        change(&mut signatures[5].sender, order);
        recover(&workload, &signatures, 1, &GO).unwrap_err()
    };
    for error in [
        // The other s that the same key could have signed with (EIP-2).
        wrong(|signature, order| {
            signature.s = order - signature.s;
            signature.y_parity ^= 1;
        }),
        wrong(|signature, _| signature.y_parity = 2),
        wrong(|signature, _| signature.r = U256::ZERO),
        wrong(|signature, order| signature.r = order),
    ] {
        assert!(matches!(error, RecoverError::Invalid { tx: 5, .. }), "{error}");
    }
}

#[test]
fn recovery_ends_when_asked_to_stop() {
    let workload = workload();
    let signatures = sign(&workload, 2, &GO).unwrap();
    let stop = AtomicBool::new(true);
    assert_eq!(sign(&workload, 2, &stop).unwrap_err(), RecoverError::Cancelled);
    assert_eq!(recover(&workload, &signatures, 2, &stop).unwrap_err(), RecoverError::Cancelled);
}
