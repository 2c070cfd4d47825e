// An executor of one's own for stress: go-ethereum's core over a state in memory, as a worker.
// It reads the JSON form of a workload, takes samples, and answers on standard output, one line of
// JSON for each request (docs/contributing.md of stress).
//
//	go build -o go-worker .
//	stress gate --against ./go-worker --program ./go-worker-changed --scenario transfers --quick
//
// It refuses what it cannot do: transactions with authorizations, whose signatures a workload does
// not have.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"lukechampine.com/blake3"
)

const (
	// Version of the worker protocol.
	protocol = 1
	version  = "0.1.0"
	// The one variant: transactions in order, on one thread.
	variant = "go-ethereum/in-order@1"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != "--worker" {
		fmt.Fprintln(os.Stderr, "usage: go-worker --worker; stress starts it")
		os.Exit(2)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "go-worker:", err)
		os.Exit(1)
	}
}

// A kind of error that the protocol knows, with its message.
type failure struct {
	kind string
	err  error
}

func (f failure) Error() string { return f.err.Error() }

func usage(format string, args ...any) error   { return failure{"usage", fmt.Errorf(format, args...)} }
func disagree(err error) error                 { return failure{"disagree", err} }
func answerOf(kind string, rest fields) fields { rest["kind"] = kind; return rest }

type fields map[string]any

// A request; each kind has some of the keys.
type request struct {
	Kind         string      `json:"kind"`
	Protocol     int         `json:"protocol"`
	WorkloadJSON string      `json:"workload_json"`
	Run          [][2]string `json:"run"`
	Variant      string      `json:"variant"`
}

func serve(in io.Reader, out io.Writer) error {
	lines := json.NewEncoder(out)
	if err := lines.Encode(hello()); err != nil {
		return err
	}
	var loaded *executor
	requests := bufio.NewReader(in)
	for {
		line, err := requests.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var asked request
		var answer fields
		if err = json.Unmarshal(line, &asked); err != nil {
			err = usage("no message of worker protocol %d: %w", protocol, err)
		} else {
			answer, err = answerTo(&asked, &loaded)
		}
		if err != nil {
			kind := "io"
			if known := (failure{}); errors.As(err, &known) {
				kind = known.kind
			}
			answer = answerOf("error", fields{"error": kind, "message": err.Error()})
		}
		if err := lines.Encode(answer); err != nil {
			return err
		}
		if asked.Kind == "exit" {
			return nil
		}
	}
}

// The first line, unasked.
func hello() fields {
	said := fields{
		"protocol": protocol,
		"program":  version,
		"executor": "go-ethereum " + gethVersion(),
		"reads":    "json",
	}
	if hash, err := ownHash(); err == nil {
		// The gate ends where a build is replaced under its feet.
		said["binary_hash"] = hash
	}
	return answerOf("hello", said)
}

func answerTo(asked *request, loaded **executor) (fields, error) {
	switch asked.Kind {
	case "load":
		if asked.Protocol != protocol {
			return nil, usage("the driver speaks worker protocol %d, this worker %d", asked.Protocol, protocol)
		}
		if len(asked.Run) > 0 {
			return nil, usage("%s: this worker has no settings; leave it out", asked.Run[0][0])
		}
		work, err := readWorkload(asked.WorkloadJSON)
		if err != nil {
			return nil, err
		}
		if *loaded, err = newExecutor(work); err != nil {
			return nil, err
		}
		return answerOf("loaded", fields{
			"digest":        work.Digest,
			"variants":      []string{variant},
			"thread_counts": []int{1},
		}), nil
	case "sample":
		if *loaded == nil {
			return nil, usage("nothing is loaded: ask `load` first")
		}
		if asked.Variant != variant {
			return nil, usage("no variant %s: there is %s", asked.Variant, variant)
		}
		taken, err := (*loaded).sample()
		if err != nil {
			return nil, err
		}
		return answerOf("sample", fields{
			"variant":  variant,
			"wall_ns":  taken.wall.Nanoseconds(),
			"cpu_ns":   taken.cpu.Nanoseconds(),
			"counters": taken.counters,
		}), nil
	case "exit":
		return answerOf("bye", fields{}), nil
	}
	return nil, usage("%s: this worker knows load, sample and exit", asked.Kind)
}

// The version of go-ethereum that was linked.
func gethVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/ethereum/go-ethereum" {
				if module.Replace != nil {
					return module.Version + " replaced by " + module.Replace.Path
				}
				return module.Version
			}
		}
	}
	return "of an unknown version"
}

// BLAKE3 of this program's file.
func ownHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hasher := blake3.New(32, nil)
	if _, err := io.Copy(hasher, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hasher.Sum(nil)), nil
}
