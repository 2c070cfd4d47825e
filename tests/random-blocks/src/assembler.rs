//! A small assembler: opcodes, constants, and jumps to labels of two bytes. It knows no gas and no
//! stack, and writes instructions as given.

use alloy_primitives::Bytes;
use revm::bytecode::opcode as op;

/// A jump target in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Code under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u8>,
    /// Offset of each label, once it is known.
    places: Vec<Option<u16>>,
    /// Offsets where a label's two bytes are inserted at the end.
    uses: Vec<(usize, Label)>,
}

impl Assembler {
    /// Appends opcodes.
    pub(crate) fn ops(&mut self, opcodes: &[u8]) -> &mut Self {
        self.code.extend_from_slice(opcodes);
        self
    }

    /// Pushes a number, in as few bytes as possible.
    pub(crate) fn push(&mut self, number: u64) -> &mut Self {
        let bytes = number.to_be_bytes();
        let len = bytes.len() - (number.leading_zeros() / 8) as usize;
        self.code.push(op::PUSH0 + len as u8);
        self.code.extend_from_slice(&bytes[bytes.len() - len..]);
        self
    }

    /// Pushes at most 32 bytes as a number.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.code.push(op::PUSH0 + bytes.len() as u8);
        self.code.extend_from_slice(bytes);
        self
    }

    /// Makes a label without a place.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places `label` here.
    pub(crate) fn at(&mut self, label: Label) -> &mut Self {
        self.places[label.0] = Some(self.code.len() as u16);
        self.code.push(op::JUMPDEST);
        self
    }

    /// Jumps to `label`.
    pub(crate) fn jump(&mut self, label: Label) -> &mut Self {
        self.target(label).ops(&[op::JUMP])
    }

    /// Jumps to `label` if the top of the stack is not zero.
    pub(crate) fn jump_if(&mut self, label: Label) -> &mut Self {
        self.target(label).ops(&[op::JUMPI])
    }

    fn target(&mut self, label: Label) -> &mut Self {
        self.code.push(op::PUSH2);
        self.uses.push((self.code.len(), label));
        self.code.extend_from_slice(&[0; 2]);
        self
    }

    /// Returns the code.
    ///
    /// # Panics
    /// When a label that is a jump target has no place.
    pub(crate) fn finish(mut self) -> Bytes {
        for (at, Label(label)) in self.uses {
            let place = self.places[label].unwrap_or_else(|| panic!("label {label} has no place"));
            self.code[at..at + 2].copy_from_slice(&place.to_be_bytes());
        }
        self.code.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_labels_become_what_the_machine_reads() {
        let mut code = Assembler::default();
        let end = code.label();
        code.push(0).push(0x1ff).jump(end).ops(&[op::INVALID]).at(end);
        let expected = [0x5f, 0x61, 0x01, 0xff, 0x61, 0, 9, 0x56, 0xfe, 0x5b];
        assert_eq!(code.finish()[..], expected);
    }
}
