package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
)

const (
	// Where geth has its database in a data directory.
	instanceName = "geth"
	databaseName = "chaindata"
	ancientName  = "ancient"
	// Memory for opening it once more.
	reopenCacheMB = 16
	// Records between two looks at signals, at faults of the database and at the clock.
	lookInterval = 4096
	// Room on the device for each byte of rows: the database, and tables that are written anew.
	bytesPerRowByte = 4
)

// The contents of a database that was filled.
type summary struct {
	datadir                 string
	accounts, slots         uint64
	codes                   int
	stateRoot, genesis      common.Hash
	rowBytes, databaseBytes uint64
	took                    time.Duration
}

func (s *summary) String() string {
	return fmt.Sprintf("%s: %d accounts, %d slots, %d codes; %s from %s of rows in %.1f s\nstate root %#x\n"+
		"genesis %#x\n", s.datadir, s.accounts, s.slots, s.codes, size(s.databaseBytes), size(s.rowBytes),
		s.took.Seconds(), s.stateRoot, s.genesis)
}

// Makes the database of the export in `rows` at `datadir`; leaves nothing where that fails.
func fill(ctx context.Context, rows, datadir string, said *progress) (filled *summary, err error) {
	began := time.Now()
	export, err := openExport(rows)
	if err != nil {
		return nil, err
	}
	rowBytes, err := export.rowBytes()
	if err != nil {
		return nil, err
	}
	place, err := newPlace(datadir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if left := place.leave(); err == nil {
			err = left
		}
	}()
	if err := place.mustHave(rowBytes * bytesPerRowByte); err != nil {
		return nil, err
	}
	codeCount, err := write(ctx, export, filepath.Join(place.dir, instanceName, databaseName), said)
	if err != nil {
		return nil, err
	}
	databaseBytes, err := dirBytes(place.dir)
	if err != nil {
		return nil, err
	}
	return &summary{
		datadir:       place.datadir,
		accounts:      export.AccountCount,
		slots:         export.SlotCount,
		codes:         codeCount,
		stateRoot:     export.StateRoot,
		genesis:       export.GenesisHash,
		rowBytes:      rowBytes,
		databaseBytes: databaseBytes,
		took:          time.Since(began),
	}, place.keep()
}

// Writes a whole database into `dir`. Returns the number of codes.
func write(ctx context.Context, export *export, dir string, said *progress) (int, error) {
	db, err := openStore(dir)
	if err != nil {
		return 0, err
	}
	f := &filler{ctx: ctx, export: export, db: db, said: said}
	err = f.all()
	if closed := db.close(); err == nil {
		err = closed
	}
	if err == nil {
		err = reopen(dir, export.GenesisHash)
	}
	return len(f.codeHashes), err
}

// Opens the database as geth does: the store of old blocks is made, and logs that are not needed any more
// are removed. Fails where its head is another block.
func reopen(dir string, head common.Hash) error {
	kv, err := pebble.New(dir, reopenCacheMB, handleCount, "", false)
	if err != nil {
		return err
	}
	db, err := rawdb.Open(kv, rawdb.OpenOptions{Ancient: filepath.Join(dir, ancientName)})
	if err != nil {
		return errors.Join(err, kv.Close())
	}
	if found := rawdb.ReadHeadHeaderHash(db); found != head {
		err = fmt.Errorf("the database that was written has the head %#x, not %#x", found, head)
	}
	return errors.Join(err, db.Close())
}

// A database that is being filled. Each step writes one kind of key.
type filler struct {
	ctx    context.Context
	export *export
	db     *store
	said   *progress
	// By ascending hash.
	codeHashes []common.Hash
}

func (f *filler) all() error {
	slots, accounts := float64(f.export.SlotCount), float64(f.export.AccountCount)
	// The weights are seconds for a million records, on the machine that this was written on.
	steps := []struct {
		name string
		work float64
		do   func() error
	}{
		{"anchor", 0, f.anchor},
		{"codes", 0, f.codes},
		{"storage tries", 2*slots + 0.1*accounts, f.storageTries},
		{"account trie", 2 * accounts, f.accountTrie},
		{"flat slots", 0.7 * slots, f.flatSlots},
		{"flat accounts", 0.7 * accounts, f.flatAccounts},
		{"settling", 0.5 * (slots + accounts), f.settle},
	}
	for _, step := range steps {
		f.said.expect(step.work)
	}
	for _, step := range steps {
		f.said.begin(step.name, step.work)
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// Shows how far a step is. Fails where the user interrupted, or the database cannot be written.
func (f *filler) look(done, all float64) error {
	if f.ctx.Err() != nil {
		return errInterrupted
	}
	f.said.set(done / max(all, 1))
	return f.db.fault()
}

// Writes a first and a last row into the lowest level: the genesis block, whose receipts come behind all
// of the state, and in the place of the state's root, which comes before it, a node that is none and
// is overwritten. Where a range is compacted, tables go one level below its lowest one: with these rows,
// to the lowest of all, as those of a database that has been in use.
func (f *filler) anchor() error {
	rawdb.WriteAccountTrieNode(f.db, nil, []byte{0})
	f.writeGenesis()
	if err := f.db.flush(); err != nil {
		return err
	}
	return f.db.kv.Compact(nil, nil)
}

func (f *filler) codes() error {
	codes, err := openCodes(f.export.dir)
	if err != nil {
		return err
	}
	defer codes.close()
	for {
		hash, code, err := codes.next()
		if err != nil || code == nil {
			return err
		}
		rawdb.WriteCode(f.db, hash, code)
		f.codeHashes = append(f.codeHashes, hash)
		if err := f.look(float64(codes.read), float64(codes.size)); err != nil {
			return err
		}
	}
}

// Writes the storage tries, and checks their roots against the accounts'.
func (f *filler) storageTries() error {
	accounts, err := f.export.accounts()
	if err != nil {
		return err
	}
	defer accounts.close()
	slots, err := f.export.slots()
	if err != nil {
		return err
	}
	defer slots.close()
	tries := &storageTries{slots: slots, db: f.db, look: func() error {
		all := float64(accounts.count)*accountBytes + float64(slots.count)*slotBytes
		return f.look(accounts.readBytes()+slots.readBytes(), all)
	}}
	if tries.slot, err = slots.next(); err != nil {
		return err
	}
	for {
		account, err := accounts.next()
		if err != nil {
			return err
		}
		if account == nil {
			return tries.mustBeDone(common.MaxHash)
		}
		hash := common.Hash(account[:hashBytes])
		if err := tries.mustBeDone(hash); err != nil {
			return err
		}
		root, err := tries.of(hash)
		if err != nil {
			return err
		}
		if wanted := common.Hash(account[72:104]); root != wanted {
			return wrong("%s: the account %#x has the storage root %#x, the root of its rows in %s is %#x: the "+
				"files are damaged, or of two exports; %s", accounts.place(), hash, wanted, slotsName, root, again)
		}
		if accounts.read%lookInterval == 0 {
			if err := tries.look(); err != nil {
				return err
			}
		}
	}
}

// Storage tries, one after the other.
type storageTries struct {
	slots *records
	// The next record; nil behind the last.
	slot []byte
	db   *store
	look func() error
	// The value of a leaf.
	value []byte
}

// Fails where the next slot belongs to an account below `hash`.
func (s *storageTries) mustBeDone(hash common.Hash) error {
	if s.slot == nil || bytes.Compare(s.slot[:hashBytes], hash[:]) >= 0 {
		return nil
	}
	return wrong("%s: there is no account %#x in %s: the files are damaged, or of two exports; %s",
		s.slots.place(), s.slot[:hashBytes], accountsName, again)
}

// Writes the trie of an account's slots. Returns its root.
func (s *storageTries) of(account common.Hash) (common.Hash, error) {
	if s.slot == nil || !bytes.Equal(s.slot[:hashBytes], account[:]) {
		return types.EmptyRootHash, nil
	}
	nodes := trie.NewStackTrie(func(path []byte, _ common.Hash, node []byte) {
		rawdb.WriteStorageTrieNode(s.db, account, path, node)
	})
	for s.slot != nil && bytes.Equal(s.slot[:hashBytes], account[:]) {
		key, value := s.slot[hashBytes:slotKeyBytes], s.slot[slotKeyBytes:]
		if len(common.TrimLeftZeroes(value)) == 0 {
			return common.Hash{}, wrong("%s: the slot is zero, and such a slot does not exist: the file is damaged, "+
				"or has no rows; %s", s.slots.place(), again)
		}
		s.value = appendValue(s.value[:0], value)
		if err := nodes.Update(key, s.value); err != nil {
			return common.Hash{}, fmt.Errorf("%s: %w", s.slots.place(), err)
		}
		var err error
		if s.slot, err = s.slots.next(); err != nil {
			return common.Hash{}, err
		}
		if s.slots.read%lookInterval == 0 {
			if err := s.look(); err != nil {
				return common.Hash{}, err
			}
		}
	}
	return nodes.Hash(), nil
}

// Writes the trie of accounts, and checks its root against that of export.json.
func (f *filler) accountTrie() error {
	nodes := trie.NewStackTrie(func(path []byte, _ common.Hash, node []byte) {
		rawdb.WriteAccountTrieNode(f.db, path, node)
	})
	err := f.eachAccount(func(place func() string, record []byte) error {
		account := stateAccount(record)
		if !f.hasCode(common.Hash(account.CodeHash)) {
			return wrong("%s: the account's code %#x is not in %s: the files are damaged, or of two exports; %s",
				place(), account.CodeHash, codesName, again)
		}
		leaf, err := rlp.EncodeToBytes(&account)
		if err != nil {
			return err
		}
		return nodes.Update(record[:hashBytes], leaf)
	})
	if err != nil {
		return err
	}
	if root := nodes.Hash(); root != f.export.StateRoot {
		return wrong("the rows have the state root %#x, %s has %#x: the rows are damaged, or of another export; %s",
			root, manifestName, f.export.StateRoot, again)
	}
	return nil
}

func (f *filler) hasCode(hash common.Hash) bool {
	_, found := slices.BinarySearchFunc(f.codeHashes, hash, common.Hash.Cmp)
	return found || hash == types.EmptyCodeHash
}

func (f *filler) flatAccounts() error {
	return f.eachAccount(func(_ func() string, record []byte) error {
		rawdb.WriteAccountSnapshot(f.db, common.Hash(record[:hashBytes]), types.SlimAccountRLP(stateAccount(record)))
		return nil
	})
}

func (f *filler) eachAccount(do func(place func() string, record []byte) error) error {
	accounts, err := f.export.accounts()
	if err != nil {
		return err
	}
	defer accounts.close()
	return f.each(accounts, func(record []byte) error { return do(accounts.place, record) })
}

func (f *filler) flatSlots() error {
	slots, err := f.export.slots()
	if err != nil {
		return err
	}
	defer slots.close()
	var value []byte
	return f.each(slots, func(record []byte) error {
		account, key := common.Hash(record[:hashBytes]), common.Hash(record[hashBytes:slotKeyBytes])
		value = appendValue(value[:0], record[slotKeyBytes:])
		rawdb.WriteStorageSnapshot(f.db, account, key, value)
		return nil
	})
}

// Hands all records of a file to `do`.
func (f *filler) each(of *records, do func(record []byte) error) error {
	for {
		record, err := of.next()
		if err != nil || record == nil {
			return err
		}
		if err := do(record); err != nil {
			return err
		}
		if of.read%lookInterval == 0 {
			if err := f.look(float64(of.read), float64(of.count)); err != nil {
				return err
			}
		}
	}
}

// Says that the state is whole, and puts the database in order: a key lies in one place then, and geth
// has nothing to tidy when it opens it.
func (f *filler) settle() error {
	if err := f.db.flush(); err != nil {
		return err
	}
	if err := f.adopt(); err != nil {
		return err
	}
	return f.db.settle(func(done, all int) error { return f.look(float64(done), float64(all)) })
}

// Writes the records of a genesis block as `geth init` does.
func (f *filler) writeGenesis() {
	block := f.export.block
	hash, number := block.Hash(), block.NumberU64()
	rawdb.WriteGenesisStateSpec(f.db, hash, []byte("{}"))
	rawdb.WriteBlock(f.db, block)
	rawdb.WriteReceipts(f.db, hash, number, nil)
	rawdb.WriteCanonicalHash(f.db, hash, number)
	rawdb.WriteHeadBlockHash(f.db, hash)
	rawdb.WriteHeadFastBlockHash(f.db, hash)
	rawdb.WriteHeadHeaderHash(f.db, hash)
	rawdb.WriteChainConfig(f.db, hash, f.export.genesis.Config)
}

// Lets go-ethereum take the flat state and the tries for its own, as after a snap sync.
func (f *filler) adopt() error {
	settings := *pathdb.Defaults
	// Flat state is there: nothing is to be made of the tries.
	settings.SnapshotNoBuild = true
	tries := triedb.NewDatabase(rawdb.NewDatabase(f.db.kv), &triedb.Config{PathDB: &settings})
	err := tries.AdoptSyncedState(f.export.StateRoot)
	if closed := tries.Close(); err == nil {
		err = closed
	}
	return err
}

// The version of go-ethereum that was linked.
func gethVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/ethereum/go-ethereum" {
				return module.Version
			}
		}
	}
	return "of an unknown version"
}
