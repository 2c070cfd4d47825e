package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
	"github.com/holiman/uint256"
)

// The settings of a chain as stress exports them.
const settings = `{
	"config": {"chainId": 1, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
		"byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0,
		"muirGlacierBlock": 0, "berlinBlock": 0, "londonBlock": 0, "arrowGlacierBlock": 0,
		"grayGlacierBlock": 0, "mergeNetsplitBlock": 0, "terminalTotalDifficulty": 0,
		"terminalTotalDifficultyPassed": true, "shanghaiTime": 0, "cancunTime": 0, "pragueTime": 0,
		"osakaTime": 0, "blobSchedule": {
			"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
			"prague": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
			"osaka": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}}},
	"nonce": "0x0", "timestamp": "0x6553f100", "extraData": "0x", "gasLimit": "0x1c9c380",
	"difficulty": "0x0", "mixHash": "0x0000000000000000000000000000000000000000000000000000000000000000",
	"coinbase": "0x0000000000000000000000000000000000000000", "baseFeePerGas": "0x3b9aca00",
	"excessBlobGas": "0x0", "blobGasUsed": "0x0", "alloc": {}}`

// A state of contracts with slots, contracts with one code, and plain accounts, some of them empty.
func state() types.GenesisAlloc {
	random := rand.New(rand.NewSource(1))
	word := func(byteCount int) (word common.Hash) {
		random.Read(word[common.HashLength-byteCount:])
		word[common.HashLength-1] |= 1
		return word
	}
	alloc := types.GenesisAlloc{}
	for index := range 700 {
		account := types.Account{Nonce: uint64(index % 3), Balance: big.NewInt(int64(index % 5))}
		switch {
		case index < 3:
			account.Code = bytes.Repeat([]byte{byte(index + 1)}, 20_000*index+1)
			account.Storage = map[common.Hash]common.Hash{}
			for range []int{1, 17, 4000}[index] {
				account.Storage[word(32)] = word(1 + random.Intn(32))
			}
		case index < 40:
			account.Code = []byte{0x60, byte(index % 4)}
		}
		alloc[common.BytesToAddress(word(20).Bytes())] = account
	}
	return alloc
}

type row struct {
	hash common.Hash
	rest []byte
}

func sorted(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int { return a.hash.Cmp(b.hash) })
	return rows
}

func joined(rows []row) []byte {
	var all []byte
	for _, row := range sorted(rows) {
		all = append(append(all, row.hash[:]...), row.rest...)
	}
	return all
}

// Writes an export of `alloc` with rows. Returns its directory and its genesis.
func exported(t *testing.T, alloc types.GenesisAlloc) (string, *core.Genesis) {
	t.Helper()
	genesis := new(core.Genesis)
	must(t, json.Unmarshal([]byte(settings), genesis))
	genesis.Alloc = alloc
	var accounts, slots, codes []row
	hasCode := map[common.Hash]bool{}
	slotCount := 0
	for address, account := range alloc {
		hash := crypto.Keccak256Hash(address[:])
		var own []row
		for key, value := range account.Storage {
			own = append(own, row{crypto.Keccak256Hash(key[:]), value.Bytes()})
		}
		root := trie.NewStackTrie(nil)
		for _, slot := range sorted(own) {
			must(t, root.Update(slot.hash[:], appendValue(nil, slot.rest)))
		}
		slotCount += len(own)
		slots = append(slots, row{hash, nil})
		if len(own) > 0 {
			// The account's hash stands before each of its slots.
			slots[len(slots)-1].rest = joined(own)
		}
		codeHash := crypto.Keccak256Hash(account.Code)
		if len(account.Code) > 0 && !hasCode[codeHash] {
			hasCode[codeHash] = true
			length := binary.LittleEndian.AppendUint32(nil, uint32(len(account.Code)))
			codes = append(codes, row{codeHash, append(length, account.Code...)})
		}
		record := binary.BigEndian.AppendUint64(nil, account.Nonce)
		record = append(record, common.BigToHash(account.Balance).Bytes()...)
		record = append(append(record, root.Hash().Bytes()...), codeHash[:]...)
		accounts = append(accounts, row{hash, record})
	}
	var slotRows []byte
	for _, account := range sorted(slots) {
		for own := account.rest; len(own) > 0; own = own[64:] {
			slotRows = append(append(slotRows, account.hash[:]...), own[:64]...)
		}
	}
	block := genesis.ToBlock()
	described, err := json.Marshal(manifest{
		Schema:       schema,
		GenesisHash:  block.Hash(),
		StateRoot:    block.Root(),
		AccountCount: uint64(len(accounts)),
		SlotCount:    uint64(slotCount),
		Files:        []string{"genesis-without-alloc.json", accountsName, slotsName, codesName},
	})
	must(t, err)
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		manifestName:                 described,
		"genesis-without-alloc.json": []byte(settings),
		accountsName:                 joined(accounts),
		slotsName:                    slotRows,
		codesName:                    joined(codes),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	return dir, genesis
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func quiet() *progress { return newProgress(&bytes.Buffer{}) }

// All rows of a database, but those that say how the state came there.
func rowsOf(t *testing.T, db ethdb.Iteratee) map[string][]byte {
	t.Helper()
	rows := map[string][]byte{}
	all := db.NewIterator(nil, nil)
	defer all.Release()
	for all.Next() {
		key := string(all.Key())
		is := func(name string) bool { return strings.HasPrefix(key, name) }
		switch {
		case is("ethereum-genesis-"), is("LastStateID"), is("Snap"), is("TrieJournal"):
		case is("L") && len(key) == 1+common.HashLength:
			// The number of a state by its root.
		default:
			rows[key] = common.CopyBytes(all.Value())
		}
	}
	must(t, all.Error())
	return rows
}

func TestTheDatabaseHasTheRowsOfOneThatGoEthereumInitialised(t *testing.T) {
	dir, genesis := exported(t, state())
	datadir := filepath.Join(t.TempDir(), "data")
	filled, err := fill(context.Background(), dir, datadir, quiet())
	must(t, err)

	initialised := rawdb.NewMemoryDatabase()
	own := *pathdb.Defaults
	own.NoAsyncFlush, own.NoAsyncGeneration = true, true
	tries := triedb.NewDatabase(initialised, &triedb.Config{PathDB: &own})
	block := genesis.MustCommit(initialised, tries)
	must(t, tries.Close())
	if filled.stateRoot != block.Root() || filled.genesis != block.Hash() {
		t.Fatalf("%s, not %#x and %#x", filled, block.Root(), block.Hash())
	}

	kv, err := pebble.New(filepath.Join(datadir, instanceName, databaseName), 16, 16, "", false)
	must(t, err)
	defer kv.Close()
	wanted, found := rowsOf(t, initialised), rowsOf(t, kv)
	for key, value := range wanted {
		if !bytes.Equal(found[key], value) {
			t.Errorf("%q: %x, go-ethereum has %x", key, found[key], value)
		}
	}
	for key, value := range found {
		if _, ok := wanted[key]; !ok {
			t.Errorf("%q: %x, go-ethereum has no such row", key, value)
		}
	}
	if len(wanted) < 10_000 {
		t.Errorf("%d rows are too few for this test", len(wanted))
	}
	mustBeSettled(t, kv)
	// go-ethereum finds flat state and codes whole, and serves them.
	again := triedb.NewDatabase(rawdb.NewDatabase(kv), &triedb.Config{PathDB: pathdb.Defaults})
	defer again.Close()
	must(t, again.VerifyState(block.Root()))
}

// All tables must be in the lowest level.
func mustBeSettled(t *testing.T, kv ethdb.KeyValueStater) {
	t.Helper()
	stat, err := kv.Stat()
	must(t, err)
	counts := map[string]string{}
	for line := range strings.Lines(stat) {
		if words := strings.Fields(line); len(words) > 2 && words[1] == "|" {
			counts[words[0]] = words[2]
		}
	}
	if counts["6"] == "" || counts["6"] == "0" || counts["6"] != counts["total"] {
		t.Errorf("tables are above the lowest level:\n%s", stat)
	}
}

// Changes a file of an export.
func change(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(content), 0o644))
}

// Changes a key of export.json.
func describe(t *testing.T, dir, key string, value any) {
	t.Helper()
	change(t, dir, manifestName, func(text []byte) []byte {
		var all map[string]any
		must(t, json.Unmarshal(text, &all))
		all[key] = value
		text, err := json.Marshal(all)
		must(t, err)
		return text
	})
}

func TestWrongRowsAreOneErrorAndLeaveNothing(t *testing.T) {
	alloc := state()
	cut := func(name string, byteCount int) func(string) {
		return func(dir string) {
			change(t, dir, name, func(rows []byte) []byte { return rows[:len(rows)-byteCount] })
		}
	}
	at := func(name string, edit func([]byte)) func(string) {
		return func(dir string) {
			change(t, dir, name, func(rows []byte) []byte { edit(rows); return rows })
		}
	}
	for name, c := range map[string]struct {
		damage func(dir string)
		words  string
	}{
		"a record cut in two":   {cut(slotsName, 1), "no whole number of records of 96 bytes"},
		"a record is missing":   {cut(slotsName, slotBytes), "4017 records, export.json has 4018"},
		"an account is missing": {cut(accountsName, accountBytes), "699 records, export.json has 700"},
		"a code is cut":         {cut(codesName, 1), "are left: the file is cut off"},
		"a code is missing": {func(dir string) {
			change(t, dir, codesName, func(rows []byte) []byte {
				return rows[codeHead+binary.LittleEndian.Uint32(rows[32:]):]
			})
		}, "is not in codes.rows"},
		"a damaged code": {at(codesName, func(rows []byte) { rows[codeHead] ^= 1 }), "its record says"},
		"unsorted slots": {at(slotsName, func(rows []byte) {
			first := slices.Clone(rows[96:192])
			copy(rows[96:], rows[192:288])
			copy(rows[192:], first)
		}), "record 2 (byte 192) has the key"},
		"unsorted accounts": {
			at(accountsName, func(rows []byte) { rows[len(rows)-accountBytes] = 0 }), "accounts.rows: record 699 (byte",
		},
		"no rows":         {at(slotsName, func(rows []byte) { clear(rows) }), "slots.rows: record"},
		"another value":   {at(slotsName, func(rows []byte) { rows[95] ^= 0x80 }), "has the storage root"},
		"a slot of zero":  {at(slotsName, func(rows []byte) { clear(rows[64:96]) }), "the slot is zero"},
		"another balance": {at(accountsName, func(rows []byte) { rows[71] ^= 0x80 }), "the rows have the state root"},
		"another storage root": {
			at(accountsName, func(rows []byte) { rows[72] ^= 1 }), "accounts.rows: record 0 (byte 0): the account",
		},
		"slots without an account": {func(dir string) {
			change(t, dir, accountsName, func(rows []byte) []byte {
				for at := 0; at < len(rows); at += accountBytes {
					if common.Hash(rows[at+72:]) != types.EmptyRootHash {
						return slices.Delete(rows, at, at+accountBytes)
					}
				}
				return rows
			})
			describe(t, dir, "account_count", len(alloc)-1)
		}, "there is no account"},
		"rows of another state": {func(dir string) {
			describe(t, dir, "state_root", common.Hash{1})
		}, "the genesis hash is"},
		"another schema":    {func(dir string) { describe(t, dir, "schema", "stress-export/9") }, "stress-export/9"},
		"an export without": {func(dir string) { describe(t, dir, "files", []string{"payloads.txt"}) }, "--format rows"},
		"no export":         {func(dir string) { must(t, os.Remove(filepath.Join(dir, manifestName))) }, "stress export"},
		"no file":           {func(dir string) { must(t, os.Remove(filepath.Join(dir, codesName))) }, "codes.rows"},
		"no genesis": {func(dir string) {
			must(t, os.Remove(filepath.Join(dir, "genesis-without-alloc.json")))
		}, "neither"},
		"no JSON": {at(manifestName, func(text []byte) { text[0] = '[' }), "export.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := exported(t, alloc)
			c.damage(dir)
			parent := t.TempDir()
			_, err := fill(context.Background(), dir, filepath.Join(parent, "data"), quiet())
			if err == nil || !errors.As(err, new(inputError)) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%q is not in: %v", c.words, err)
			}
			mustBeEmpty(t, parent)
		})
	}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnInterruptLeavesNothing(t *testing.T) {
	dir, _ := exported(t, state())
	parent := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, said bytes.Buffer
	code := run(ctx, []string{"--rows", dir, "--datadir", filepath.Join(parent, "data")}, &out, &said)
	if code != codeInterrupted || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("%d: %s", code, said.String())
	}
	mustBeEmpty(t, parent)
}

func TestAPlaceIsOfOneFillAndItsLeftoversGo(t *testing.T) {
	dir, _ := exported(t, state())
	parent := t.TempDir()
	datadir := filepath.Join(parent, "data")
	killed := filepath.Join(parent, ".data.filling", instanceName)
	must(t, os.MkdirAll(killed, 0o755))
	must(t, os.WriteFile(filepath.Join(killed, "half"), nil, 0o644))
	first, err := newPlace(datadir)
	must(t, err)
	mustBeEmpty(t, first.dir)
	if _, err := newPlace(datadir); err == nil || !strings.Contains(err.Error(), "another geth-fill") {
		t.Errorf("a second one: %v", err)
	}
	if err := first.mustHave(1 << 62); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("room: %v", err)
	}
	must(t, first.leave())
	_, err = fill(context.Background(), dir, datadir, quiet())
	must(t, err)
	_, err = fill(context.Background(), dir, datadir, quiet())
	if err == nil || !strings.Contains(err.Error(), "exists; name another directory") {
		t.Errorf("a directory that exists: %v", err)
	}
	left, err := os.ReadDir(parent)
	must(t, err)
	if len(left) != 1 {
		t.Errorf("beside it: %v", left)
	}
}

func TestArgumentsThatAreMissingAreNamed(t *testing.T) {
	for _, c := range []struct {
		words string
		code  int
		said  string
	}{
		{"", codeInput, "--rows is missing"},
		{"--rows x", codeInput, "--datadir is missing"},
		{"--rows x --datadir y z", codeInput, "z: no option"},
		{"--row x", codeInput, "--help"},
		{"--rows none --datadir y", codeInput, "there is no export.json"},
		{"--help", codeFine, "usage: geth-fill"},
	} {
		var said bytes.Buffer
		code := run(context.Background(), strings.Fields(c.words), &said, &said)
		if code != c.code || !strings.Contains(said.String(), c.said) {
			t.Errorf("%q: %d: %s", c.words, code, said.String())
		}
	}
}

func TestValuesAreThoseOfRLP(t *testing.T) {
	for _, value := range []*uint256.Int{
		uint256.NewInt(1), uint256.NewInt(0x7f), uint256.NewInt(0x80), uint256.NewInt(0x1234),
		new(uint256.Int).SetAllOne(),
	} {
		word := value.Bytes32()
		wanted, err := rlp.EncodeToBytes(value)
		must(t, err)
		if found := appendValue(nil, word[:]); !bytes.Equal(found, wanted) {
			t.Errorf("%s: %x, not %x", value, found, wanted)
		}
	}
}

func TestProgressHasAnEstimateAndIsNoFlood(t *testing.T) {
	var said bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{out: &said, now: func() time.Time { return now }, began: now, shown: now}
	p.expect(30)
	p.expect(10)
	p.begin("tries", 30)
	p.set(0.1)
	now = now.Add(6 * time.Second)
	p.set(0.2)
	p.set(0.3)
	now = now.Add(6 * time.Second)
	p.begin("rows", 10)
	p.set(0)
	if want := "tries: 15 %, about 34s left\nrows: 75 %, about 4s left\n"; said.String() != want {
		t.Errorf("%q", said.String())
	}
}
