// SPDX-License-Identifier: Apache-2.0

package smoke

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (r *run) podRuns(ctx context.Context) error {
	_, err := r.kubectl(ctx, "wait", "--namespace="+namespace, "--for=condition=Available", "deployment", "--all", "--timeout=2m")
	return err
}

func (r *run) logsShow(ctx context.Context) error {
	output, err := r.kubectl(ctx, "logs", "--namespace="+namespace, "deployment/web")
	return expect(output, err, "serving")
}

func (r *run) execRuns(ctx context.Context) error {
	output, err := r.inPod(ctx, "web", "say", "milestone")
	return expect(output, err, "milestone")
}

func (r *run) nameResolves(ctx context.Context) error {
	address, err := r.kubectl(ctx, "get", "service", "web", "--namespace="+namespace, "--output=jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	for _, name := range []string{"web", "web." + namespace + ".svc", "web." + namespace + ".svc.cluster.local"} {
		output, err := r.inPod(ctx, "client", "resolve", name)
		if err := expect(output, err, address); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) serviceAnswers(ctx context.Context) error {
	output, err := r.inPod(ctx, "client", "get", "http://web/")
	return expect(output, err, "hello")
}

func (r *run) hairpinAnswers(ctx context.Context) error {
	output, err := r.inPod(ctx, "web", "get", "http://web/")
	return expect(output, err, "hello")
}

func (r *run) foreignNameFails(ctx context.Context) error {
	begin := time.Now()
	output, err := r.inPod(ctx, "client", "resolve", "example.com")
	if err == nil {
		return fmt.Errorf("it resolves to %s", output)
	}
	if took := time.Since(begin); took > 5*time.Second {
		return fmt.Errorf("it took %s", took)
	}
	return nil
}

func (r *run) tokenMounted(ctx context.Context) error {
	token, err := r.inPod(ctx, "client", "print", "/var/run/secrets/smoke/token")
	if err != nil {
		return err
	}
	audience, err := audienceOf(token)
	if err != nil {
		return err
	}
	if !slices.Equal(audience, []string{"smoke.example/audience"}) {
		return fmt.Errorf("its audience is %v", audience)
	}
	return nil
}

func (r *run) networkPolicyAccepted(ctx context.Context) error {
	return r.apply(ctx, "networkpolicy.yaml")
}

// jobSetCompletes also shows that the API server reaches webhooks, which
// JobSet's chart brings. It leaves JobSet where it was found installed.
func (r *run) jobSetCompletes(ctx context.Context) error {
	if _, err := r.kubectl(ctx, "get", "crd", "jobsets.jobset.x-k8s.io"); err != nil {
		uninstall, err := r.installJobSet(ctx)
		if err != nil {
			return err
		}
		defer uninstall()
	}
	if err := r.apply(ctx, "jobset.yaml"); err != nil {
		return err
	}
	if _, err := r.kubectl(ctx, "wait", "--namespace="+namespace, "--for=condition=Completed", "jobset/steps", "--timeout=2m"); err != nil {
		return err
	}
	output, err := r.kubectl(ctx, "logs", "--namespace="+namespace, "--selector=jobset.sigs.k8s.io/jobset-name=steps")
	return expect(output, err, "step done")
}

func (r *run) installJobSet(ctx context.Context) (uninstall func(), err error) {
	helm, err := r.builder.Path(ctx, "helm4")
	if err != nil {
		return nil, err
	}
	source, err := r.builder.Source(ctx, "jobset")
	if err != nil {
		return nil, err
	}
	version, err := r.builder.Version("jobset")
	if err != nil {
		return nil, err
	}
	const release, place = "jobset", "jobset-system"
	_, err = r.output(ctx, nil, helm, "install", release, source+"/charts/jobset", "--namespace="+place, "--create-namespace",
		"--set=image.repository=registry.k8s.io/jobset/jobset,image.tag="+version+",image.pullPolicy=IfNotPresent",
		"--set=controller.resources.requests.cpu=10m", "--wait", "--timeout=3m")
	return func() {
		_, uninstalling := r.output(ctx, nil, helm, "uninstall", release, "--namespace="+place, "--wait")
		_, deleting := r.kubectl(ctx, "delete", "namespace/"+place, "crd/jobsets.jobset.x-k8s.io", "--timeout=2m")
		if err := errors.Join(uninstalling, deleting); err != nil {
			_, _ = fmt.Fprintln(r.out, "removing JobSet:", err)
		}
	}, err
}

func expect(output string, err error, want string) error {
	if err == nil && !strings.Contains(output, want) {
		return fmt.Errorf("want %q, got %q", want, output)
	}
	return err
}

// audienceOf reads the audience of a token without checking its signature.
func audienceOf(token string) ([]string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("a token of %d parts is no JSON web token", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, fmt.Errorf("decoding a token: %w", err)
	}
	var claims struct {
		Audience []string `json:"aud"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, fmt.Errorf("reading a token's claims: %w", err)
	}
	return claims.Audience, nil
}
