package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

const schema = "stress.workload/1"

// A workload, as far as this executor needs it. The list is left out: it executes in order.
type workload struct {
	Schema          string        `json:"schema"`
	Digest          string        `json:"digest"`
	Fork            string        `json:"fork"`
	Rules           rules         `json:"rules"`
	Changes         []change      `json:"changes"`
	ChainID         uint64        `json:"chain_id"`
	Genesis         recipe        `json:"genesis"`
	FirstHashNumber uint64        `json:"first_hash_number"`
	BlockHashes     []common.Hash `json:"block_hashes"`
	Batches         []batch       `json:"batches"`
}

// A fork that begins between the blocks.
type change struct {
	Fork string `json:"fork"`
}

type rules struct {
	BlobFeeUpdateFraction uint64 `json:"blob_fee_update_fraction"`
}

// The accounts that are written out. Rows of families come with the batches that touch them.
type recipe struct {
	Accounts []account `json:"accounts"`
}

type account struct {
	Address  common.Address `json:"address"`
	Nonce    uint64         `json:"nonce"`
	Balance  uint256.Int    `json:"balance"`
	Code     hexutil.Bytes  `json:"code"`
	CodeHash common.Hash    `json:"code_hash"`
	Storage  [][2]word      `json:"storage"`
}

type batch struct {
	State    planned  `json:"state"`
	Blocks   []block  `json:"blocks"`
	Expected expected `json:"expected"`
}

// Rows of families that a batch may touch, and that exist.
type planned struct {
	Accounts []account `json:"accounts"`
	Codes    []struct {
		Hash common.Hash   `json:"hash"`
		Code hexutil.Bytes `json:"code"`
	} `json:"codes"`
	Slots []struct {
		Address common.Address `json:"address"`
		Slots   [][2]word      `json:"slots"`
	} `json:"slots"`
}

type block struct {
	Env          env           `json:"env"`
	Transactions []transaction `json:"transactions"`
	Withdrawals  []struct {
		Address    common.Address `json:"address"`
		AmountGwei uint64         `json:"amount_gwei"`
	} `json:"withdrawals"`
}

type env struct {
	Number           uint64         `json:"number"`
	Timestamp        uint64         `json:"timestamp"`
	Beneficiary      common.Address `json:"beneficiary"`
	GasLimit         uint64         `json:"gas_limit"`
	BaseFee          uint64         `json:"base_fee"`
	PrevRandao       common.Hash    `json:"prev_randao"`
	ExcessBlobGas    uint64         `json:"excess_blob_gas"`
	SlotNumber       uint64         `json:"slot_number"`
	ParentHash       common.Hash    `json:"parent_hash"`
	ParentBeaconRoot common.Hash    `json:"parent_beacon_root"`
}

type transaction struct {
	Type                 uint8           `json:"type"`
	Sender               common.Address  `json:"sender"`
	Nonce                uint64          `json:"nonce"`
	GasLimit             uint64          `json:"gas_limit"`
	MaxFeePerGas         uint256.Int     `json:"max_fee_per_gas"`
	MaxPriorityFeePerGas uint256.Int     `json:"max_priority_fee_per_gas"`
	To                   *common.Address `json:"to"`
	Value                uint256.Int     `json:"value"`
	Input                hexutil.Bytes   `json:"input"`
	AccessList           []struct {
		Address common.Address `json:"address"`
		Slots   []common.Hash  `json:"slots"`
	} `json:"access_list"`
	BlobHashes       []common.Hash     `json:"blob_hashes"`
	MaxFeePerBlobGas uint256.Int       `json:"max_fee_per_blob_gas"`
	Authorizations   []json.RawMessage `json:"authorizations"`
}

type expected struct {
	Transactions []outcome   `json:"transactions"`
	NetChanges   common.Hash `json:"net_changes"`
}

type outcome struct {
	Status  string      `json:"status"`
	GasUsed uint64      `json:"gas_used"`
	Logs    common.Hash `json:"logs"`
	Output  common.Hash `json:"output"`
}

// A 256-bit integer of the JSON form as the 32 bytes that a slot's key or value is.
type word common.Hash

// UnmarshalText reads `0x` and hexadecimal digits without leading zeros.
func (w *word) UnmarshalText(text []byte) error {
	var number uint256.Int
	if err := number.UnmarshalText(text); err != nil {
		return err
	}
	*w = number.Bytes32()
	return nil
}

func readWorkload(path string) (*workload, error) {
	if path == "" {
		return nil, usage("workload_json is missing: this worker reads the JSON form")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var work workload
	if err := json.NewDecoder(bufio.NewReaderSize(file, 1<<20)).Decode(&work); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if work.Schema != schema {
		return nil, usage("%s has schema %q, this worker reads %s", path, work.Schema, schema)
	}
	return &work, nil
}
