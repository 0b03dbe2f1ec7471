package command

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folders is where working folders are made. All access is by os.Root, so that no
// symbolic link which a program leaves behind leads out of it.
type folders struct {
	path string // without symbolic links
}

// prefix begins the name of each working folder.
const prefix = "osfoundry-run-"

// openFolders makes the folder if it is not there, for this user only; "" is the
// system's own for temporary files.
func openFolders(path string) (folders, error) {
	switch {
	case path == "":
		path = os.TempDir()
	case !filepath.IsAbs(path):
		return folders{}, errors.New("the folder of commands must be an absolute path")
	default:
		if err := os.MkdirAll(path, 0o700); err != nil {
			return folders{}, err
		}
	}
	path, err := filepath.EvalSymlinks(path)
	return folders{path}, err
}

// folder is the working folder of one run.
type folder struct {
	root *os.Root
	name string
	path string
}

func (f folders) make() (*folder, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	name := prefix + rand.Text()
	if err := root.Mkdir(name, 0o700); err != nil {
		root.Close()
		return nil, err
	}
	return &folder{root: root, name: name, path: filepath.Join(f.path, name)}, nil
}

// remove removes the folder with all that is in it.
func (f *folder) remove() error {
	defer f.root.Close()
	return removeAll(f.root, f.name)
}

func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if err == nil {
		return nil
	}
	// A program may have taken the rights to its own folders away.
	walk := func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return nil
	}
	return errors.Join(fs.WalkDir(root.FS(), name, walk), root.RemoveAll(name))
}

// clear removes folders that no run can still use, because they are older than any:
// a server that was killed left them.
func (f folders) clear(before time.Time) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var failed error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) || !info.ModTime().Before(before) {
			continue // what is gone by now is removed too
		}
		failed = errors.Join(failed, removeAll(root, e.Name()))
	}
	return failed
}
