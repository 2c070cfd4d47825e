package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"
)

// A workload that is ready to be sampled.
type executor struct {
	work   *workload
	config *params.ChainConfig
	memory *memory
	// Of each block: what its transactions are to go-ethereum.
	messages [][]*core.Message
}

// A sample, of which nothing but the execution was on the clock.
type sample struct {
	wall, cpu time.Duration
	counters  counters
}

// The outcome of a batch.
type result struct {
	transactions []outcome
	netChanges   common.Hash
}

// What a transaction left, before it is digested.
type receipt struct {
	status string
	gas    uint64
	logs   []*types.Log
	output []byte
}

func newExecutor(work *workload) (*executor, error) {
	config, err := chainConfig(work)
	if err != nil {
		return nil, err
	}
	made := &executor{work: work, config: config, memory: newMemory(work)}
	for _, batch := range work.Batches {
		for _, block := range batch.Blocks {
			messages := make([]*core.Message, len(block.Transactions))
			for i := range block.Transactions {
				message, err := messageOf(&block.Transactions[i], &block.Env)
				if err != nil {
					return nil, fmt.Errorf("block %d, transaction %d: %w", block.Env.Number, i, err)
				}
				messages[i] = message
			}
			made.messages = append(made.messages, messages)
		}
	}
	return made, nil
}

// The rules of the workload's fork, from the first block on.
func chainConfig(work *workload) (*params.ChainConfig, error) {
	config := *params.MergedTestChainConfig
	config.ChainID = new(big.Int).SetUint64(work.ChainID)
	config.BlobScheduleConfig = params.DefaultBlobSchedule
	start := new(uint64)
	if len(work.Changes) > 0 {
		return nil, usage("fork %s, then %s: this worker runs blocks of one fork", work.Fork, work.Changes[0].Fork)
	}
	switch work.Fork {
	case "amsterdam":
		config.BPO1Time, config.BPO2Time, config.AmsterdamTime = start, start, start
	case "bpo2":
		config.BPO1Time, config.BPO2Time = start, start
	case "bpo1":
		config.BPO1Time = start
	case "osaka":
	default:
		return nil, usage("fork %s: this worker knows osaka, bpo1, bpo2 and amsterdam", work.Fork)
	}
	return &config, nil
}

func messageOf(tx *transaction, env *env) (*core.Message, error) {
	if len(tx.Authorizations) > 0 {
		return nil, usage("authorizations have no signatures here, and go-ethereum wants them")
	}
	message := &core.Message{
		To:            tx.To,
		From:          tx.Sender,
		Nonce:         tx.Nonce,
		Value:         &tx.Value,
		GasLimit:      tx.GasLimit,
		GasFeeCap:     &tx.MaxFeePerGas,
		GasTipCap:     &tx.MaxPriorityFeePerGas,
		Data:          tx.Input,
		BlobGasFeeCap: &tx.MaxFeePerBlobGas,
	}
	if tx.Type < types.DynamicFeeTxType {
		message.GasTipCap = &tx.MaxFeePerGas
	}
	// EIP-1559: the base fee and the tip, but no more than the most.
	price, overflow := new(uint256.Int).AddOverflow(message.GasTipCap, uint256.NewInt(env.BaseFee))
	if overflow || price.Gt(message.GasFeeCap) {
		price = message.GasFeeCap
	}
	message.GasPrice = price
	for _, item := range tx.AccessList {
		tuple := types.AccessTuple{Address: item.Address, StorageKeys: item.Slots}
		message.AccessList = append(message.AccessList, tuple)
	}
	if tx.Type == types.BlobTxType {
		message.BlobHashes = tx.BlobHashes
	}
	return message, nil
}

// Takes one sample: all batches in order, over a state that nobody has touched.
func (e *executor) sample() (*sample, error) {
	var (
		taken   sample
		results []result
		reader  = &reader{memory: e.memory}
		before  changes
		first   int
	)
	// A StateDB wants a database beside its reader, which is asked for nothing before a commit.
	empty := rawdb.NewMemoryDatabase()
	database := state.NewDatabase(triedb.NewDatabase(empty, nil), state.NewCodeDB(empty))
	db, err := state.NewWithReader(types.EmptyRootHash, database, reader)
	if err != nil {
		return nil, err
	}
	for i := range e.work.Batches {
		blocks := e.work.Batches[i].Blocks
		receipts := make([]receipt, 0, txCount(blocks))
		cpu, begun := cpuTime(), time.Now()
		for place := range blocks {
			receipts, err = e.run(db, &blocks[place], e.messages[first+place], receipts)
			if err != nil {
				return nil, disagree(fmt.Errorf("batch %d: %w", i, err))
			}
		}
		taken.wall += time.Since(begun)
		taken.cpu += cpuTime() - cpu
		if err := db.Error(); err != nil {
			return nil, err
		}
		first += len(blocks)
		now := valuesOf(db, reader)
		net := e.memory.net(now, before)
		results = append(results, resultOf(receipts, net.digest()))
		before = now
	}
	if err := e.check(results); err != nil {
		return nil, disagree(err)
	}
	taken.counters = countersOf(results)
	return &taken, nil
}

func txCount(blocks []block) (count int) {
	for i := range blocks {
		count += len(blocks[i].Transactions)
	}
	return count
}

func resultOf(receipts []receipt, netChanges common.Hash) result {
	made := result{netChanges: netChanges}
	for _, receipt := range receipts {
		of := outcomeOf(receipt.status, receipt.gas, receipt.logs, receipt.output)
		made.transactions = append(made.transactions, of)
	}
	return made
}

// Runs a block: system calls, transactions, withdrawals and system calls.
func (e *executor) run(db *state.StateDB, block *block, messages []*core.Message, receipts []receipt) ([]receipt, error) {
	evm := vm.NewEVM(e.blockContext(&block.Env), db, e.config, vm.Config{})
	defer evm.Release()
	height := new(big.Int).SetUint64(block.Env.Number)
	var list *bal.ConstructionBlockAccessList
	if evm.GetRules().IsAmsterdam {
		list = bal.NewConstructionBlockAccessList()
	}
	core.ProcessBeaconBlockRoot(block.Env.ParentBeaconRoot, evm, list)
	core.ProcessParentBlockHash(block.Env.ParentHash, evm, list)
	pool := core.NewGasPool(block.Env.GasLimit)
	var logs []*types.Log
	for i, message := range messages {
		// A name for the logs, of which the state has those of all batches: these transactions have no hash.
		name := common.BigToHash(new(big.Int).Add(new(big.Int).Lsh(height, 64), big.NewInt(int64(i))))
		db.SetTxContext(name, i, uint32(i+1))
		done, err := core.ApplyMessage(evm, message, pool)
		if err != nil {
			return nil, fmt.Errorf("block %d, transaction %d: %w", block.Env.Number, i, err)
		}
		made := db.Finalise(evm.GetRules())
		if list != nil {
			list.Merge(made)
		}
		of := receiptOf(done)
		if of.status == "success" {
			of.logs = db.GetLogs(name, block.Env.Number, common.Hash{}, block.Env.Timestamp)
			logs = append(logs, of.logs...)
		}
		receipts = append(receipts, of)
	}
	withdrawals := make(types.Withdrawals, len(block.Withdrawals))
	for i, of := range block.Withdrawals {
		withdrawals[i] = &types.Withdrawal{Address: of.Address, Amount: of.AmountGwei}
	}
	_, _, err := core.PostExecution(context.Background(), e.config, height, block.Env.Timestamp, logs, withdrawals, evm, uint32(len(messages)+1))
	return receipts, err
}

func receiptOf(done *core.ExecutionResult) receipt {
	switch {
	case done.Err == nil:
		return receipt{status: "success", gas: done.UsedGas, output: done.ReturnData}
	case errors.Is(done.Err, vm.ErrExecutionReverted):
		return receipt{status: "revert", gas: done.UsedGas, output: done.ReturnData}
	}
	return receipt{status: "halt", gas: done.UsedGas}
}

func (e *executor) blockContext(env *env) vm.BlockContext {
	hashes, first := e.work.BlockHashes, e.work.FirstHashNumber
	return vm.BlockContext{
		CanTransfer: core.CanTransfer,
		Transfer:    core.Transfer,
		GetHash: func(height uint64) common.Hash {
			if height < first || height-first >= uint64(len(hashes)) {
				return common.Hash{}
			}
			return hashes[height-first]
		},
		Coinbase:         env.Beneficiary,
		GasLimit:         env.GasLimit,
		BlockNumber:      new(big.Int).SetUint64(env.Number),
		Time:             env.Timestamp,
		Difficulty:       new(big.Int),
		BaseFee:          new(big.Int).SetUint64(env.BaseFee),
		BlobBaseFee:      blobFee(env.ExcessBlobGas, e.work.Rules.BlobFeeUpdateFraction),
		Random:           &env.PrevRandao,
		SlotNum:          env.SlotNumber,
		CostPerStateByte: params.CostPerStateByte,
	}
}

// The blob base fee: e^(excess/fraction), as EIP-4844 sums it.
func blobFee(excess, fraction uint64) *big.Int {
	var (
		numerator   = new(big.Int).SetUint64(excess)
		denominator = new(big.Int).SetUint64(fraction)
		term        = new(big.Int).Set(denominator)
		sum         = new(big.Int)
	)
	for i := int64(1); term.Sign() > 0; i++ {
		sum.Add(sum, term)
		term.Mul(term, numerator)
		term.Div(term, denominator)
		term.Div(term, big.NewInt(i))
	}
	return sum.Div(sum, denominator)
}

// Compares a sample with the expected outcome, which the reference of stress made.
func (e *executor) check(results []result) error {
	for i, got := range results {
		want := &e.work.Batches[i].Expected
		for place, outcome := range got.transactions {
			if outcome != want.Transactions[place] {
				return fmt.Errorf("batch %d, transaction %d: %+v, and not %+v", i, place, outcome, want.Transactions[place])
			}
		}
		if got.netChanges != want.NetChanges {
			return fmt.Errorf("batch %d: net changes %s, and not %s", i, got.netChanges, want.NetChanges)
		}
	}
	return nil
}

// CPU time of the process so far.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
