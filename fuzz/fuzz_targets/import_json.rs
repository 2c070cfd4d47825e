//! Any bytes are files of an import or an error: tests, Engine twins, t8n files, a block and its witness.
//! Files stand one behind the other, with a zero byte between them.
#![no_main]

use generator::import::{self, FileSet, InputKind, NamedText, TransitionInput};
use libfuzzer_sys::fuzz_target;
use workload::Fork;

fuzz_target!(|bytes: &[u8]| {
    let parts = bytes.split(|byte| *byte == 0).filter_map(|part| std::str::from_utf8(part).ok());
    let mut files = Vec::new();
    for part in parts.take(4) {
        if let Ok(kind) = InputKind::of("fuzz.json", part.as_bytes()) {
            files.push((part, kind));
        }
    }
    let named: Vec<_> = files.iter().map(|(_, kind)| (String::new(), *kind)).collect();
    let of = |kind: InputKind| {
        let found = files.iter().find(|(_, known)| *known == kind);
        found.map(|(text, _)| NamedText { name: "fuzz.json", text })
    };
    let result = of(InputKind::Outcome);
    match FileSet::of(&named) {
        Ok(FileSet::Tests) => drop(import::each_blockchain_test("fuzz.json", files[0].0)),
        Ok(FileSet::Transition) => {
            let input =
                match (of(InputKind::Alloc), of(InputKind::Env), of(InputKind::Transactions)) {
                    (Some(alloc), Some(env), Some(txs)) => {
                        TransitionInput::Files { alloc, env, txs }
                    }
                    _ => {
                        TransitionInput::Whole(of(InputKind::Transition).expect("the set is whole"))
                    }
                };
            for fork in Fork::ALL {
                drop(import::transition(input, result, fork, 1));
            }
        }
        Ok(FileSet::Witness) => {
            if let (Some(block), Some(witness)) = (of(InputKind::Block), of(InputKind::Witness)) {
                drop(import::witness(block, witness, None, 1));
            }
        }
        Ok(FileSet::Chain | FileSet::Payloads) | Err(_) => {}
    }
});
