package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// Names of the files, and the bytes of their records and of the keys that these begin with.
const (
	accountsName = "accounts.rows"
	accountBytes = 136
	slotsName    = "slots.rows"
	slotBytes    = 96
	slotKeyBytes = 64
	codesName    = "codes.rows"
	codeHead     = 36

	hashBytes = common.HashLength
)

const readBytes = 1 << 20

// The remedy of every fault of a file of rows.
const again = "export again, with --format rows"

// A file of records of one length, by ascending key.
type records struct {
	name     string
	file     *os.File
	in       *bufio.Reader
	keyBytes int
	// How many the file has, and how many were read.
	count, read uint64
	// The record that was read last, and the one before.
	record, before []byte
}

// Opens a file, which must have `count` records.
func openRecords(dir, name string, recordBytes, keyBytes int, count uint64) (*records, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, missing(err)
	}
	size, err := fileBytes(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	found, rest := size/uint64(recordBytes), size%uint64(recordBytes)
	switch {
	case rest != 0:
		err = wrong("%s: %d bytes are no whole number of records of %d bytes: the file is cut off, or has no "+
			"rows; %s", name, size, recordBytes, again)
	case found != count:
		err = wrong("%s: %d records, export.json has %d: the file is cut off, or of another export; %s",
			name, found, count, again)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &records{
		name:     name,
		file:     file,
		in:       bufio.NewReaderSize(file, readBytes),
		keyBytes: keyBytes,
		count:    count,
		record:   make([]byte, recordBytes),
		before:   make([]byte, recordBytes),
	}, nil
}

// The next record, which holds until the next call but one; nil after the last.
func (r *records) next() ([]byte, error) {
	if r.read == r.count {
		return nil, nil
	}
	r.record, r.before = r.before, r.record
	if _, err := io.ReadFull(r.in, r.record); err != nil {
		return nil, cutOff(r.name, err)
	}
	key, before := r.record[:r.keyBytes], r.before[:r.keyBytes]
	if r.read > 0 && bytes.Compare(before, key) >= 0 {
		return nil, wrong("%s: record %d (byte %d) has the key %#x, the one before has %#x: the rows are not "+
			"sorted; %s", r.name, r.read, r.read*uint64(len(r.record)), key, before, again)
	}
	r.read++
	return r.record, nil
}

// Says where the last record is.
func (r *records) place() string {
	return fmt.Sprintf("%s: record %d (byte %d)", r.name, r.read-1, (r.read-1)*uint64(len(r.record)))
}

func (r *records) readBytes() float64 { return float64(r.read) * float64(len(r.record)) }

func (r *records) close() { r.file.Close() }

// The account of a record. Its code hash lies in the record.
func stateAccount(record []byte) types.StateAccount {
	return types.StateAccount{
		Nonce:    binary.BigEndian.Uint64(record[32:40]),
		Balance:  new(uint256.Int).SetBytes(record[40:72]),
		Root:     common.Hash(record[72:104]),
		CodeHash: record[104:136],
	}
}

// Appends the value of a slot as tries and flat states have it: its RLP, without leading zeros.
func appendValue(to, value []byte) []byte {
	value = common.TrimLeftZeroes(value)
	if len(value) == 1 && value[0] < 0x80 {
		return append(to, value[0])
	}
	return append(append(to, 0x80+byte(len(value))), value...)
}

// The file of codes.
type codes struct {
	file *os.File
	in   *bufio.Reader
	// Bytes of the file, and those that were read.
	size, read uint64
	before     common.Hash
}

func openCodes(dir string) (*codes, error) {
	file, err := os.Open(filepath.Join(dir, codesName))
	if err != nil {
		return nil, missing(err)
	}
	size, err := fileBytes(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &codes{file: file, in: bufio.NewReaderSize(file, readBytes), size: size}, nil
}

// The next code and its hash; nil after the last.
func (c *codes) next() (common.Hash, []byte, error) {
	if c.read == c.size {
		return common.Hash{}, nil, nil
	}
	var head [codeHead]byte
	at := c.read
	if c.size-at < codeHead {
		return common.Hash{}, nil, wrong("%s: %d bytes are left at byte %d, a record begins with %d: the file is "+
			"cut off; %s", codesName, c.size-at, at, codeHead, again)
	}
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return common.Hash{}, nil, cutOff(codesName, err)
	}
	hash, length := common.Hash(head[:hashBytes]), uint64(binary.LittleEndian.Uint32(head[hashBytes:]))
	if left := c.size - at - codeHead; length > left {
		return common.Hash{}, nil, wrong("%s: the code at byte %d has %d bytes, and %d are left: the file is cut "+
			"off, or has no codes; %s", codesName, at, length, left, again)
	}
	if at > 0 && c.before.Cmp(hash) >= 0 {
		return common.Hash{}, nil, wrong("%s: the code at byte %d has the hash %#x, the one before has %#x: the "+
			"rows are not sorted; %s", codesName, at, hash, c.before, again)
	}
	code := make([]byte, length)
	if _, err := io.ReadFull(c.in, code); err != nil {
		return common.Hash{}, nil, cutOff(codesName, err)
	}
	if found := crypto.Keccak256Hash(code); found != hash {
		return common.Hash{}, nil, wrong("%s: the code at byte %d has the hash %#x, its record says %#x: the file "+
			"is damaged; %s", codesName, at, found, hash, again)
	}
	c.before = hash
	c.read += codeHead + length
	return hash, code, nil
}

func (c *codes) close() { c.file.Close() }

func fileBytes(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return uint64(info.Size()), nil
}

func missing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return wrong("%v: the export has no rows; %s", err, again)
	}
	return err
}

func cutOff(name string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrong("%s: became shorter while it was read; %s", name, again)
	}
	return fmt.Errorf("%s: %w", name, err)
}
