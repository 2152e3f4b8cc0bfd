// SPDX-License-Identifier: Apache-2.0

package reportlink

import "testing"

func TestStringsThatPublishedClientsKnow(t *testing.T) {
	cases := map[string]struct {
		got, want string
	}{
		"path of a job": {
			got:  Path("default", "test-job"),
			want: "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/test-job/status",
		},
		"audience of a job": {
			got:  Audience("kubeflow-system", "test-job"),
			want: "trainer.kubeflow.org/v1alpha1/namespaces/kubeflow-system/trainjobs/test-job/status",
		},
		"address behind the default Service": {
			got:  URL(ServiceHost("kubeflow-trainer-controller-manager", "kubeflow-system"), 10443, "default", "test-job"),
			want: "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/test-job/status",
		},
		"address of an IPv6 host": {
			got:  URL("::1", 10443, "a", "b"),
			want: "https://[::1]:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces/a/trainjobs/b/status",
		},
		"name of the CA ConfigMap": {got: CAConfigMapName("mnist"), want: "mnist-tls-config"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}
