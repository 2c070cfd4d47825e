package main

import (
	"encoding/binary"
	"hash"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"lukechampine.com/blake3"
)

// Counters of a sample. It takes no list, and does not count its reads.
type counters struct {
	Gas        uint64      `json:"gas"`
	Receipts   common.Hash `json:"receipts"`
	NetChanges common.Hash `json:"net_changes"`
	ListBytes  uint64      `json:"list_bytes"`
	UniqueKeys uint64      `json:"unique_keys"`
	StoreReads *uint64     `json:"store_reads"`
}

var statuses = map[string]byte{"success": 0, "revert": 1, "halt": 2}

func keccak(data []byte) common.Hash { return crypto.Keccak256Hash(data) }

func number(to hash.Hash, number uint64, order binary.ByteOrder) {
	var bytes [8]byte
	order.PutUint64(bytes[:], number)
	to.Write(bytes[:])
}

func outcomeOf(status string, gasUsed uint64, logs []*types.Log, output []byte) outcome {
	hasher := blake3.New(32, nil)
	for _, log := range logs {
		hasher.Write(log.Address[:])
		hasher.Write([]byte{byte(len(log.Topics))})
		for _, topic := range log.Topics {
			hasher.Write(topic[:])
		}
		number(hasher, uint64(len(log.Data)), binary.LittleEndian)
		hasher.Write(log.Data)
	}
	of := common.BytesToHash(hasher.Sum(nil))
	return outcome{status, gasUsed, of, blake3.Sum256(output)}
}

// Digest of the net changes of a batch.
func (c *changes) digest() common.Hash {
	hasher := blake3.New(32, nil)
	number(hasher, uint64(len(c.accounts)), binary.LittleEndian)
	for _, account := range c.accounts {
		hasher.Write(account.address[:])
		if !account.exists {
			hasher.Write([]byte{0})
			continue
		}
		hasher.Write([]byte{1})
		number(hasher, account.nonce, binary.LittleEndian)
		balance := account.balance.Bytes32()
		hasher.Write(balance[:])
		hasher.Write(account.code[:])
	}
	for _, slot := range c.slots {
		hasher.Write(slot.address[:])
		hasher.Write(slot.key[:])
		hasher.Write(slot.value[:])
	}
	return common.BytesToHash(hasher.Sum(nil))
}

// The counters of all batches.
func countersOf(batches []result) counters {
	receipts, net := crypto.NewKeccakState(), crypto.NewKeccakState()
	var all counters
	for _, batch := range batches {
		for _, tx := range batch.transactions {
			all.Gas += tx.GasUsed
			receipts.Write([]byte{statuses[tx.Status]})
			number(receipts, tx.GasUsed, binary.BigEndian)
			receipts.Write(tx.Logs[:])
			receipts.Write(tx.Output[:])
		}
		net.Write(batch.netChanges[:])
	}
	receipts.Read(all.Receipts[:])
	net.Read(all.NetChanges[:])
	return all
}
