package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

const (
	manifestName = "export.json"
	schema       = "stress-export/1"
)

// Files with the settings of the chain: the first of a state that is in rows alone.
var genesisNames = []string{"genesis-without-alloc.json", "genesis.json"}

// The part of export.json that is read.
type manifest struct {
	Schema       string      `json:"schema"`
	GenesisHash  common.Hash `json:"genesis_hash"`
	StateRoot    common.Hash `json:"state_root"`
	AccountCount uint64      `json:"account_count"`
	SlotCount    uint64      `json:"slot_count"`
	Files        []string    `json:"files"`
}

// A directory that stress export wrote.
type export struct {
	dir string
	manifest
	genesis *core.Genesis
	// The genesis block, with the state root of export.json.
	block *types.Block
}

// Opens an export that has rows, and checks the sizes of their files and the genesis hash.
func openExport(dir string) (*export, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, wrong("--rows %s: there is no %s; name the directory that stress export --format rows wrote",
			dir, manifestName)
	} else if err != nil {
		return nil, err
	}
	e := &export{dir: dir}
	if err := json.Unmarshal(text, &e.manifest); err != nil {
		return nil, wrong("%s: %v; %s", manifestName, err, again)
	}
	if e.Schema != schema {
		return nil, wrong("%s: schema %q, %s is read: export with the stress that this geth-fill comes with",
			manifestName, e.Schema, schema)
	}
	for _, name := range []string{accountsName, slotsName, codesName} {
		if !slices.Contains(e.Files, name) {
			return nil, wrong("--rows %s: the export has no rows; %s", dir, again)
		}
	}
	for _, open := range []func() (*records, error){e.accounts, e.slots} {
		file, err := open()
		if err != nil {
			return nil, err
		}
		file.close()
	}
	return e, e.readGenesis()
}

func (e *export) accounts() (*records, error) {
	return openRecords(e.dir, accountsName, accountBytes, hashBytes, e.AccountCount)
}

func (e *export) slots() (*records, error) {
	return openRecords(e.dir, slotsName, slotBytes, slotKeyBytes, e.SlotCount)
}

// Bytes of all rows.
func (e *export) rowBytes() (uint64, error) {
	info, err := os.Stat(filepath.Join(e.dir, codesName))
	if err != nil {
		return 0, missing(err)
	}
	return e.AccountCount*accountBytes + e.SlotCount*slotBytes + uint64(info.Size()), nil
}

// Reads the settings of the chain and makes the genesis block by go-ethereum's own rules.
func (e *export) readGenesis() error {
	name, text, err := e.genesisText()
	if err != nil {
		return err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return wrong("%s: %v; %s", name, err, again)
	}
	// The accounts are in the rows.
	parts["alloc"] = json.RawMessage("{}")
	if text, err = json.Marshal(parts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	e.genesis = new(core.Genesis)
	if err := json.Unmarshal(text, e.genesis); err != nil {
		return wrong("%s: %v; %s", name, err, again)
	}
	if e.genesis.Config == nil {
		return wrong("%s: there is no config; %s", name, again)
	}
	if err := e.genesis.Config.CheckConfigForkOrder(); err != nil {
		return wrong("%s: %v: go-ethereum %s does not take these forks", name, err, gethVersion())
	}
	empty := e.genesis.ToBlock()
	header := empty.Header()
	header.Root = e.StateRoot
	e.block = empty.WithSeal(header)
	if found := e.block.Hash(); found != e.GenesisHash {
		return wrong("%s: the genesis hash is %#x, %s has %#x: the files are of two exports, or of a fork that "+
			"go-ethereum %s does not know; %s", name, found, manifestName, e.GenesisHash, gethVersion(), again)
	}
	return nil
}

func (e *export) genesisText() (name string, text []byte, err error) {
	for _, name = range genesisNames {
		text, err = os.ReadFile(filepath.Join(e.dir, name))
		if !errors.Is(err, os.ErrNotExist) {
			return name, text, err
		}
	}
	return "", nil, wrong("--rows %s: there is neither %s nor %s; %s", e.dir, genesisNames[0], genesisNames[1],
		again)
}
