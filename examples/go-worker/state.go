package main

import (
	"bytes"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// The state below the first batch, as far as the batches touch it: maps, and no tries.
type memory struct {
	accounts map[common.Address]*types.StateAccount
	slots    map[common.Address]map[common.Hash]common.Hash
	codes    map[common.Hash][]byte
}

func newMemory(work *workload) *memory {
	all := &memory{
		accounts: make(map[common.Address]*types.StateAccount),
		slots:    make(map[common.Address]map[common.Hash]common.Hash),
		codes:    make(map[common.Hash][]byte),
	}
	for _, account := range work.Genesis.Accounts {
		account.CodeHash = types.EmptyCodeHash
		if len(account.Code) > 0 {
			account.CodeHash = keccak(account.Code)
			all.codes[account.CodeHash] = account.Code
		}
		all.add(&account)
		all.addSlots(account.Address, account.Storage)
	}
	// Rows of a family are those below the first batch, whichever batch they come with.
	for _, batch := range work.Batches {
		for _, account := range batch.State.Accounts {
			all.add(&account)
		}
		for _, code := range batch.State.Codes {
			all.codes[code.Hash] = code.Code
		}
		for _, contract := range batch.State.Slots {
			all.addSlots(contract.Address, contract.Slots)
		}
	}
	return all
}

func (m *memory) add(account *account) {
	m.accounts[account.Address] = &types.StateAccount{
		Nonce:    account.Nonce,
		Balance:  account.Balance.Clone(),
		Root:     types.EmptyRootHash,
		CodeHash: account.CodeHash.Bytes(),
	}
}

func (m *memory) addSlots(address common.Address, rows [][2]word) {
	if len(rows) == 0 {
		return
	}
	slots := m.slots[address]
	if slots == nil {
		slots = make(map[common.Hash]common.Hash, len(rows))
		m.slots[address] = slots
	}
	for _, row := range rows {
		slots[common.Hash(row[0])] = common.Hash(row[1])
	}
}

type slot struct {
	address common.Address
	key     common.Hash
}

// What a StateDB reads from memory. A StateDB asks for a key once, before it writes it, so the asked
// keys are all that can have changed.
type reader struct {
	*memory
	accounts []common.Address
	slots    []slot
}

var _ state.Reader = (*reader)(nil)

// Account gives a copy of the account's row, nil where there is none.
func (r *reader) Account(address common.Address) (*types.StateAccount, error) {
	r.accounts = append(r.accounts, address)
	if account := r.memory.accounts[address]; account != nil {
		return account.Copy(), nil
	}
	return nil, nil
}

// Storage gives the value of a slot, zero where there is none.
func (r *reader) Storage(address common.Address, key common.Hash) (common.Hash, error) {
	r.slots = append(r.slots, slot{address, key})
	return r.memory.slots[address][key], nil
}

// Has says whether there is such a code.
func (r *reader) Has(_ common.Address, hash common.Hash) bool { return r.codes[hash] != nil }

// Code gives the code with this hash.
func (r *reader) Code(_ common.Address, hash common.Hash) []byte { return r.codes[hash] }

// CodeSize gives the length of the code with this hash.
func (r *reader) CodeSize(_ common.Address, hash common.Hash) int { return len(r.codes[hash]) }

// The state after a batch beside the one before it.
type changes struct {
	accounts []changedAccount
	slots    []changedSlot
}

type changedAccount struct {
	address common.Address
	exists  bool
	nonce   uint64
	balance *uint256.Int
	code    common.Hash
}

type changedSlot struct {
	slot
	value common.Hash
}

// The values of all keys that were asked for, sorted.
func valuesOf(db *state.StateDB, r *reader) changes {
	var now changes
	accounts := slices.Clone(r.accounts)
	slices.SortFunc(accounts, common.Address.Cmp)
	for _, address := range slices.Compact(accounts) {
		now.accounts = append(now.accounts, changedAccount{
			address: address,
			exists:  db.Exist(address),
			nonce:   db.GetNonce(address),
			balance: db.GetBalance(address).Clone(),
			code:    db.GetCodeHash(address),
		})
	}
	slots := slices.Clone(r.slots)
	slices.SortFunc(slots, compareSlots)
	for _, slot := range slices.Compact(slots) {
		now.slots = append(now.slots, changedSlot{slot, db.GetState(slot.address, slot.key)})
	}
	return now
}

func compareSlots(a, b slot) int {
	if order := a.address.Cmp(b.address); order != 0 {
		return order
	}
	return bytes.Compare(a.key[:], b.key[:])
}

// The part of `now` that differs from the values before: those of the batch before, and of memory.
func (m *memory) net(now, before changes) changes {
	accounts := make(map[common.Address]changedAccount, len(before.accounts))
	for _, account := range before.accounts {
		accounts[account.address] = account
	}
	slots := make(map[slot]common.Hash, len(before.slots))
	for _, slot := range before.slots {
		slots[slot.slot] = slot.value
	}
	var net changes
	for _, account := range now.accounts {
		was, ok := accounts[account.address]
		if !ok {
			was = m.before(account.address)
		}
		if !account.equals(&was) {
			net.accounts = append(net.accounts, account)
		}
	}
	for _, slot := range now.slots {
		was, ok := slots[slot.slot]
		if !ok {
			was = m.slots[slot.address][slot.key]
		}
		if slot.value != was {
			net.slots = append(net.slots, slot)
		}
	}
	return net
}

func (m *memory) before(address common.Address) changedAccount {
	account := m.accounts[address]
	if account == nil {
		return changedAccount{address: address}
	}
	return changedAccount{address, true, account.Nonce, account.Balance, common.BytesToHash(account.CodeHash)}
}

func (a *changedAccount) equals(b *changedAccount) bool {
	if !a.exists || !b.exists {
		return a.exists == b.exists
	}
	return a.nonce == b.nonce && a.balance.Eq(b.balance) && a.code == b.code
}
