package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// Shortest time between two lines, and between two states of the one line of a terminal.
	lineInterval   = 5 * time.Second
	redrawInterval = 200 * time.Millisecond
	// An estimate is shown once so much is done.
	estimateFrom = 0.02
)

// How far the work is: a line that is drawn again on a terminal, plain lines elsewhere.
type progress struct {
	out        io.Writer
	isTerminal bool
	now        func() time.Time
	began      time.Time
	shown      time.Time
	// The step under way, its part of the work, and how much of the work was done before it.
	step             string
	stepWork, before float64
	work             float64
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, now: time.Now}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.isTerminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.began = p.now()
	p.shown = p.began
	return p
}

// Adds the work of a step that will come.
func (p *progress) expect(work float64) { p.work += work }

// Begins a step; the one before is done.
func (p *progress) begin(step string, work float64) {
	p.before += p.stepWork
	p.step, p.stepWork = step, work
}

// This share of the step is done.
func (p *progress) set(share float64) {
	interval := lineInterval
	if p.isTerminal {
		interval = redrawInterval
	}
	now := p.now()
	if now.Sub(p.shown) < interval {
		return
	}
	p.shown = now
	done := (p.before + share*p.stepWork) / max(p.work, 1e-9)
	line := fmt.Sprintf("%s: %.0f %%", p.step, 100*done)
	if done >= estimateFrom {
		left := time.Duration(float64(now.Sub(p.began)) * (1 - done) / done)
		line += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	if p.isTerminal {
		// To the beginning of the line, which is cleared to its end.
		fmt.Fprintf(p.out, "\r%s\x1b[K", line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}

// Clears the line.
func (p *progress) end() {
	if p.isTerminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
