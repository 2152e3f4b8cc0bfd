// SPDX-License-Identifier: Apache-2.0

// Package dump writes what is known about a cluster to a folder, for people who
// look for the reason of a failure afterwards.
//
// It owns the choice of what is worth keeping. It reads only, and goes on when
// a part cannot be had: on a broken cluster the rest matters all the more.
package dump

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Cluster is what a dump needs of a cluster.
type Cluster interface {
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
	Logs() string
}

// patience bounds each question, so that a dead API server costs little.
const patience = 20 * time.Second

// queries maps a file to the arguments of kubectl that fill it.
var queries = map[string][]string{
	"nodes.txt":  {"describe", "nodes"},
	"pods.txt":   {"get", "pods", "--all-namespaces", "--output=wide"},
	"pods.yaml":  {"get", "pods", "--all-namespaces", "--output=yaml"},
	"events.txt": {"get", "events", "--all-namespaces", "--sort-by=.metadata.creationTimestamp"},
	"workloads.yaml": {
		"get", "--all-namespaces", "--output=yaml",
		"deployments,replicasets,jobs,services,endpointslices,configmaps,serviceaccounts",
	},
	"webhooks.yaml": {"get", "--output=yaml", "validatingwebhookconfigurations,mutatingwebhookconfigurations"},
	"crds.txt":      {"get", "customresourcedefinitions"},
}

// customGroups are the API groups whose objects are all kept.
var customGroups = []string{"trainer.kubeflow.org", "jobset.x-k8s.io"}

// Write fills dir with the state of the cluster. The error joins all parts that
// could not be had; what could is written nevertheless.
func Write(ctx context.Context, cluster Cluster, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the dump folder: %w", err)
	}
	d := dumper{cluster: cluster, dir: dir}
	var errs []error
	for file, args := range queries {
		errs = append(errs, d.query(ctx, file, args...))
	}
	for _, group := range customGroups {
		errs = append(errs, d.group(ctx, group))
	}
	errs = append(errs, d.podLogs(ctx), d.componentLogs())
	return errors.Join(errs...)
}

type dumper struct {
	cluster Cluster
	dir     string
}

func (d dumper) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := d.cluster.Command(ctx, "kubectl", args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

func (d dumper) query(ctx context.Context, file string, args ...string) error {
	output, err := d.kubectl(ctx, args...)
	if err != nil {
		return err
	}
	return d.write(file, output)
}

func (d dumper) write(file string, content []byte) error {
	path := filepath.Join(d.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// group writes every object of an API group, one file per kind.
func (d dumper) group(ctx context.Context, group string) error {
	output, err := d.kubectl(ctx, "api-resources", "--api-group="+group, "--output=name", "--verbs=list")
	if err != nil {
		return err
	}
	var errs []error
	for resource := range strings.FieldsSeq(string(output)) {
		errs = append(errs, d.query(ctx, filepath.Join("objects", resource+".yaml"), "get", resource, "--all-namespaces", "--output=yaml"))
	}
	return errors.Join(errs...)
}

// podLogs writes the log of every container, and of its last run if it has
// been restarted.
func (d dumper) podLogs(ctx context.Context) error {
	output, err := d.kubectl(ctx, "get", "pods", "--all-namespaces", "--output=json")
	if err != nil {
		return err
	}
	containers, err := containersOf(output)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range containers {
		arguments := []string{"logs", "--namespace=" + c.namespace, c.pod, "--container=" + c.name, "--timestamps"}
		errs = append(errs, d.query(ctx, c.file(""), arguments...))
		if c.restarted {
			errs = append(errs, d.query(ctx, c.file("previous"), append(arguments, "--previous")...))
		}
	}
	return errors.Join(errs...)
}

type container struct {
	namespace, pod, name string
	restarted            bool
}

func (c container) file(run string) string {
	name := c.name
	if run != "" {
		name += "." + run
	}
	return filepath.Join("logs", c.namespace, c.pod, name+".log")
}

// containersOf lists the containers that have run, from a list of pods as JSON.
func containersOf(list []byte) ([]container, error) {
	type status struct {
		Name         string `json:"name"`
		RestartCount int    `json:"restartCount"`
		ContainerID  string `json:"containerID"`
	}
	var pods struct {
		Items []struct {
			Metadata struct{ Namespace, Name string } `json:"metadata"`
			Status   struct {
				InitContainerStatuses []status `json:"initContainerStatuses"`
				ContainerStatuses     []status `json:"containerStatuses"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(list, &pods); err != nil {
		return nil, fmt.Errorf("reading the list of pods: %w", err)
	}
	var containers []container
	for _, pod := range pods.Items {
		for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if s.ContainerID == "" {
				continue
			}
			containers = append(containers, container{
				namespace: pod.Metadata.Namespace, pod: pod.Metadata.Name, name: s.Name, restarted: s.RestartCount > 0,
			})
		}
	}
	return containers, nil
}

// componentLogs copies the logs of kubelet, containerd, the API server and so
// on. The logs of pods in the same folder are there already.
func (d dumper) componentLogs() error {
	source := d.cluster.Logs()
	if source == "" {
		return nil
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		return fmt.Errorf("copying logs of components: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(source, entry.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("copying logs of components: %w", err))
			continue
		}
		errs = append(errs, d.write(filepath.Join("components", entry.Name()), content))
	}
	return errors.Join(errs...)
}
