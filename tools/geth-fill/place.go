package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Where a database is made: a directory beside its place, which is renamed once the database is whole.
// Its maker holds its lock; one without a maker was left by a killed geth-fill.
type place struct {
	datadir, dir string
	lock         *os.File
	isKept       bool
}

// Claims the place of a database that does not exist yet.
func newPlace(datadir string) (*place, error) {
	datadir, err := filepath.Abs(datadir)
	if err != nil {
		return nil, err
	}
	if err := mustNotExist(datadir); err != nil {
		return nil, err
	}
	parent, name := filepath.Split(datadir)
	p := &place{datadir: datadir, dir: filepath.Join(parent, "."+name+".filling")}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	if p.lock, err = os.Open(p.dir); err != nil {
		return nil, err
	}
	if err := p.claim(); err != nil {
		p.lock.Close()
		return nil, err
	}
	return p, nil
}

func (p *place) claim() error {
	err := syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", p.dir, err)
	}
	locked, lockedErr := p.lock.Stat()
	there, thereErr := os.Stat(p.dir)
	if err != nil || lockedErr != nil || thereErr != nil || !os.SameFile(locked, there) {
		return wrong("--datadir %s: another geth-fill is making it", p.datadir)
	}
	leftovers, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(filepath.Join(p.dir, leftover.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Fails where the device has less room than so many bytes.
func (p *place) mustHave(bytes uint64) error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(p.dir, &stat); err != nil {
		return fmt.Errorf("%s: %w", p.dir, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < bytes {
		return fmt.Errorf("--datadir %s: filling it takes up to %s, and %s are free: make room, or name a "+
			"directory on another device", p.datadir, size(bytes), size(free))
	}
	return nil
}

// Gives the whole database its name.
func (p *place) keep() error {
	if err := mustNotExist(p.datadir); err != nil {
		return err
	}
	err := os.Rename(p.dir, p.datadir)
	p.isKept = err == nil
	return err
}

// Removes the database where it was not kept.
func (p *place) leave() error {
	defer p.lock.Close()
	if p.isKept {
		return nil
	}
	return os.RemoveAll(p.dir)
}

func mustNotExist(datadir string) error {
	_, err := os.Lstat(datadir)
	if err == nil {
		return wrong("--datadir %s: exists; name another directory, or remove this one", datadir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Bytes of all files below a directory.
func dirBytes(dir string) (uint64, error) {
	var sum uint64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += uint64(info.Size())
		}
		return err
	})
	return sum, err
}

func size(bytes uint64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
