// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metric sums the manager's counter or gauge over all series that carry the labels. With several
// replicas it is the value of the one that answers. A metric without such a series counts as 0.
func (b *Bed) Metric(ctx context.Context, name string, labels map[string]string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, serviceURL(metricsPort, "/metrics"), http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("reading metric %q: %w", name, err)
	}
	// Metrics are not secret and no decision rests on who serves them: the name is not checked.
	response, err := b.serviceClient(&tls.Config{InsecureSkipVerify: true}).Do(request) //nolint:gosec // see above
	if err != nil {
		return 0, fmt.Errorf("reading metric %q: %w", name, err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("reading metric %q: %w", name, err)
	}
	var sum float64
	for _, metric := range families[name].GetMetric() {
		if hasLabels(metric, labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return sum, nil
}

func hasLabels(metric *dto.Metric, want map[string]string) bool {
	matched := 0
	for _, pair := range metric.GetLabel() {
		if value, asked := want[pair.GetName()]; asked && value == pair.GetValue() {
			matched++
		}
	}
	return matched == len(want)
}
