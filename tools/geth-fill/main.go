// geth-fill makes a database of go-ethereum from the rows of `stress export --format rows`: flat state,
// tries, codes, genesis block and settings of the chain, in path scheme. geth starts on it as on a
// database that `geth init` made of a genesis.json, but the state may be of any size: memory is
// bounded, and the rows are read in their order.
//
//	go install .
//	geth-fill --rows large/ --datadir data/
//
// The database is made beside its place and renamed. Rows that are cut off, unsorted, or of another
// state root than export.json are refused.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ethereum/go-ethereum/log"
)

const usage = `Makes a database of go-ethereum from the rows of stress export --format rows.

usage: geth-fill --rows DIR --datadir DIR

  --rows DIR     the directory that stress export wrote
  --datadir DIR  the data directory to make, for geth --datadir; it must not exist

Example:
  stress export --scenario sload-storm --slots 10M --format engine,rows --siblings 8 --out large/
  geth-fill --rows large/ --datadir data/
  geth --datadir data/ --authrpc.jwtsecret jwt.hex --nodiscover --maxpeers 0 --syncmode full

Exit codes: 0 fine, 2 usage or wrong rows, 6 input or output, 130 interrupted.
`

// How the program ends; the codes are those of stress.
const (
	codeFine        = 0
	codeInput       = 2
	codeIO          = 6
	codeInterrupted = 130
)

// An error of the user's input: arguments, or files that are no export.
type inputError struct{ text string }

func (e inputError) Error() string { return e.text }

func wrong(format string, args ...any) error { return inputError{fmt.Sprintf(format, args...)} }

var errInterrupted = errors.New("interrupted; nothing is left")

func main() {
	// geth's own log says nothing but errors.
	log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, log.LevelError, false)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Carries out the arguments. Returns the exit code.
func run(ctx context.Context, words []string, out, said io.Writer) int {
	rows, datadir, err := parse(words)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		return codeFine
	}
	if err == nil {
		progress := newProgress(said)
		var filled *summary
		filled, err = fill(ctx, rows, datadir, progress)
		progress.end()
		if err == nil {
			fmt.Fprint(out, filled)
			return codeFine
		}
	}
	fmt.Fprintln(said, "geth-fill:", err)
	switch {
	case errors.As(err, new(inputError)):
		return codeInput
	case errors.Is(err, errInterrupted):
		return codeInterrupted
	}
	return codeIO
}

func parse(words []string) (rows, datadir string, err error) {
	flags := flag.NewFlagSet("geth-fill", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&rows, "rows", "", "")
	flags.StringVar(&datadir, "datadir", "", "")
	if err := flags.Parse(words); errors.Is(err, flag.ErrHelp) {
		return "", "", err
	} else if err != nil {
		return "", "", wrong("%v; geth-fill --help shows the options", err)
	}
	switch {
	case flags.NArg() > 0:
		return "", "", wrong("%s: no option; usage: geth-fill --rows DIR --datadir DIR", flags.Arg(0))
	case rows == "":
		return "", "", wrong("--rows is missing: name the directory that stress export --format rows wrote")
	case datadir == "":
		return "", "", wrong("--datadir is missing: name the directory to make")
	}
	return rows, datadir, nil
}
