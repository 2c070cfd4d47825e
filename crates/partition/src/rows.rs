//! Rows of values in one vector: the two directions of a hypergraph, and the keys and dependencies
//! of steps. Rows may differ in length.

/// Rows, each with any number of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T> Rows<T> {
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = T>) {
        self.values.extend(row);
        self.ends.push(self.values.len());
    }

    pub(crate) const fn count(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn row(&self, index: usize) -> &[T] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.values[start..self.ends[index]]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &[T]> {
        (0..self.count()).map(|index| self.row(index))
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }
}

impl Rows<u32> {
    /// Transposes the rows: row v of the result has the indices of the rows that contain v,
    /// ascending. Values must be below `value_count`.
    pub(crate) fn transposed(&self, value_count: usize) -> Self {
        let mut starts = vec![0; value_count + 1];
        for value in &self.values {
            starts[*value as usize + 1] += 1;
        }
        for value in 0..value_count {
            starts[value + 1] += starts[value];
        }
        // Each start moves to the end of its row while the row is filled.
        let mut ends = starts;
        ends.pop();
        let mut values = vec![0; self.values.len()];
        for (index, row) in self.all().enumerate() {
            for value in row {
                let end = &mut ends[*value as usize];
                values[*end] = index as u32;
                *end += 1;
            }
        }
        Self { ends, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_transposed_twice_are_as_before() {
        let mut rows = Rows::default();
        for row in [&[1, 3][..], &[], &[0, 1, 2], &[3]] {
            rows.push(row.iter().copied());
        }
        let across = rows.transposed(4);
        assert_eq!(across.row(1), [0, 2]);
        assert_eq!(across.row(3), [0, 3]);
        assert_eq!(across.transposed(4), rows);
    }
}
