package main

import (
	"slices"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
)

const (
	// Memory of the database, in MB: half of it for tables that are not yet on disk.
	cacheMB = 512
	// Files that it has open.
	handleCount = 512
	batchBytes  = 4 << 20
	// Batches in flight: one is made, one written, one waits.
	batchCount = 3
	// Bytes of keys and values that are settled at a time.
	sectionBytes = 256 << 20
)

// A database of go-ethereum that one thread writes while another makes the next batch. What is put
// should be in order, and one kind of key after the other: then tables on disk do not overlap, and
// none is written twice.
type store struct {
	kv ethdb.KeyValueStore
	// The batch that is being made.
	batch  ethdb.Batch
	full   chan ethdb.Batch
	empty  chan ethdb.Batch
	failed atomic.Pointer[error]
	// Keys of about every sectionBytes.
	marks         [][]byte
	sinceLastMark int
}

func openStore(dir string) (*store, error) {
	kv, err := pebble.New(dir, cacheMB, handleCount, "", false)
	if err != nil {
		return nil, err
	}
	s := &store{
		kv:    kv,
		batch: kv.NewBatch(),
		full:  make(chan ethdb.Batch, batchCount),
		empty: make(chan ethdb.Batch, batchCount),
	}
	for range batchCount - 1 {
		s.empty <- kv.NewBatch()
	}
	go s.write()
	return s, nil
}

// Writes full batches until there are no more.
func (s *store) write() {
	for batch := range s.full {
		if s.fault() == nil {
			if err := batch.Write(); err != nil {
				s.failed.Store(&err)
			}
		}
		batch.Reset()
		s.empty <- batch
	}
	close(s.empty)
}

// The error by which writing ended.
func (s *store) fault() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Put adds a row to the batch. It never fails: go-ethereum's accessors would end the program. Writing
// may: see fault.
func (s *store) Put(key, value []byte) error {
	if err := s.batch.Put(key, value); err != nil {
		s.failed.CompareAndSwap(nil, &err)
		return nil
	}
	s.sinceLastMark += len(key) + len(value)
	if s.sinceLastMark >= sectionBytes {
		s.sinceLastMark = 0
		s.marks = append(s.marks, slices.Clone(key))
	}
	if s.batch.ValueSize() >= batchBytes {
		s.full <- s.batch
		s.batch = <-s.empty
	}
	return nil
}

// Delete is part of go-ethereum's interface of writers. A database that is filled loses no row.
func (s *store) Delete([]byte) error { panic("a row is deleted") }

// Waits until all rows are written.
func (s *store) flush() error {
	s.full <- s.batch
	var written []ethdb.Batch
	for range batchCount {
		written = append(written, <-s.empty)
	}
	s.batch = written[0]
	for _, batch := range written[1:] {
		s.empty <- batch
	}
	return s.fault()
}

// Moves all rows to the lowest level, section by section; `each` is told how many of how many are done,
// and ends it by an error.
func (s *store) settle(each func(done, all int) error) error {
	slices.SortFunc(s.marks, slices.Compare)
	marks := slices.CompactFunc(s.marks, slices.Equal)
	// nil: before all keys, and behind them.
	bounds := append(append([][]byte{nil}, marks...), nil)
	for section := range len(bounds) - 1 {
		if err := each(section, len(bounds)-1); err != nil {
			return err
		}
		if err := s.kv.Compact(bounds[section], bounds[section+1]); err != nil {
			return err
		}
	}
	return s.kv.SyncKeyValue()
}

// Closes the database. Rows that were not flushed may be lost.
func (s *store) close() error {
	close(s.full)
	for range s.empty {
		// Until the last batch is back.
	}
	return s.kv.Close()
}
