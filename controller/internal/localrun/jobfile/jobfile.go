// SPDX-License-Identifier: Apache-2.0

// Package jobfile keeps the TrainJobs of local runs as YAML files.
//
// It owns where the files are, that a reader never sees half a file, and that
// two runs never write the same one. It does not own what is in a TrainJob:
// localrun fills it and progressview shows it.
package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const (
	extension  = ".yaml"
	runsFolder = "runs"
	dirMode    = 0o700 // commands and metrics are nobody else's business
	fileMode   = 0o600
)

// Dir is the folder with the state of local runs.
type Dir string

// DefaultDir returns the folder milepost in the user's state folder:
// $XDG_STATE_HOME, else ~/.local/state. A user without a home folder gets a
// folder of their own among the temporary files.
func DefaultDir() Dir {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return Dir(filepath.Join(state, "milepost"))
	}
	if home, err := os.UserHomeDir(); err == nil && isFolder(home) {
		return Dir(filepath.Join(home, ".local", "state", "milepost"))
	}
	return Dir(filepath.Join(os.TempDir(), fmt.Sprintf("milepost-%d", os.Getuid())))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Path returns the file of a TrainJob.
func (d Dir) Path(namespace, name string) string {
	return filepath.Join(string(d), runsFolder, namespace, name+extension)
}

// List reads the TrainJobs of a namespace, or of all when namespace is empty, in
// the order of their names, each with read. Files that cannot be read are in the
// error, beside those that can.
func (d Dir) List(namespace string, read func(path string) (*trainer.TrainJob, error)) ([]*trainer.TrainJob, error) {
	if namespace == "" {
		namespace = "*"
	}
	paths, err := filepath.Glob(filepath.Join(globQuote(string(d)), runsFolder, namespace, "*"+extension))
	if err != nil {
		return nil, fmt.Errorf("listing local runs: %w", err)
	}
	slices.Sort(paths)
	var jobs []*trainer.TrainJob
	var errs []error
	for _, path := range paths {
		job, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // replaced or removed this very moment
		case err != nil:
			errs = append(errs, err)
		default:
			jobs = append(jobs, job)
		}
	}
	return jobs, errors.Join(errs...)
}

// globQuote keeps filepath.Glob from reading a folder's name as a pattern.
func globQuote(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// Read reads the TrainJob in a file. A missing file gives an error that wraps
// fs.ErrNotExist.
func Read(path string) (*trainer.TrainJob, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the TrainJob: %w", err)
	}
	job := &trainer.TrainJob{}
	if err := yaml.Unmarshal(text, job); err != nil {
		return nil, fmt.Errorf("reading the TrainJob in %s: %w", path, err)
	}
	if job.Kind != trainer.TrainJobKind || job.APIVersion != trainer.GroupVersion.String() {
		return nil, fmt.Errorf("reading the TrainJob in %s: it holds %q of %q", path, job.Kind, job.APIVersion)
	}
	return job, nil
}

// Write puts a TrainJob into a file. A reader sees the old or the new one, never
// a part. With durable, it is on the disk when Write returns; without, a crash of
// the machine may bring the old one back.
func Write(path string, job *trainer.TrainJob, durable bool) error {
	text, err := YAML(job)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return fmt.Errorf("writing the TrainJob: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("writing the TrainJob: %w", err)
	}
	if err := fill(file, text, durable); err != nil {
		return errors.Join(fmt.Errorf("writing the TrainJob: %w", err), os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("writing the TrainJob: %w", err), os.Remove(file.Name()))
	}
	return nil
}

func fill(file *os.File, text []byte, durable bool) error {
	_, err := file.Write(text)
	if err == nil && durable {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
