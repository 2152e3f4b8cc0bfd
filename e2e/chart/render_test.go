// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

func TestDefaultNamesAreThosePublishedClientsLookFor(t *testing.T) {
	eachHelm(t, func(t *testing.T, h helm) {
		got := h.mustTemplate(t, "--set", "jobset.install=false").names()
		slices.Sort(got)
		want := []string{
			"ClusterRole/kubeflow-trainer-controller-manager",
			"ClusterRole/kubeflow-trainer-edit",
			"ClusterRole/kubeflow-trainer-view",
			"ClusterRole/kubeflow-trainer-view-cluster-runtimes",
			"ClusterRoleBinding/kubeflow-trainer-controller-manager",
			"ClusterRoleBinding/kubeflow-trainer-view-cluster-runtimes",
			"ConfigMap/kubeflow-trainer-config",
			"ConfigMap/kubeflow-trainer-public",
			"ConfigMap/kubeflow-trainer-runtimes",
			"CustomResourceDefinition/clustertrainingruntimes.trainer.kubeflow.org",
			"CustomResourceDefinition/trainingruntimes.trainer.kubeflow.org",
			"CustomResourceDefinition/trainjobs.trainer.kubeflow.org",
			"Deployment/kubeflow-trainer-controller-manager",
			"MutatingWebhookConfiguration/defaulter.trainer.kubeflow.org",
			"Role/kubeflow-trainer-controller-manager-certificate",
			"Role/kubeflow-trainer-controller-manager-leader-election",
			"Role/kubeflow-trainer-public",
			"RoleBinding/kubeflow-trainer-controller-manager-certificate",
			"RoleBinding/kubeflow-trainer-controller-manager-leader-election",
			"RoleBinding/kubeflow-trainer-public",
			"Secret/kubeflow-trainer-webhook-cert",
			"Service/kubeflow-trainer-controller-manager",
			"ServiceAccount/kubeflow-trainer-controller-manager",
			"ValidatingWebhookConfiguration/validator.trainer.kubeflow.org",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

func TestBothHelmsRenderTheSame(t *testing.T) {
	three, four := findHelm(t, "helm3"), findHelm(t, "helm4")
	for _, values := range valuesFiles(t) {
		t.Run(values, func(t *testing.T) {
			if diff := cmp.Diff(three.mustTemplate(t, "--values", values), four.mustTemplate(t, "--values", values)); diff != "" {
				t.Errorf("objects (-Helm 3 +Helm 4):\n%s", diff)
			}
		})
	}
}

func TestNamesFollowReleaseAndOverrides(t *testing.T) {
	for situation, tc := range map[string]struct {
		args []string
		want string
	}{
		"the release is named otherwise":      {args: []string{"--name-template", "prod"}, want: "prod-kubeflow-trainer-controller-manager"},
		"the name is overridden":              {args: []string{"--set", "nameOverride=mine"}, want: "kubeflow-trainer-mine-controller-manager"},
		"the beginning is overridden":         {args: []string{"--set", "fullnameOverride=mine"}, want: "mine-controller-manager"},
		"the beginning is as long as allowed": {args: []string{"--set", "fullnameOverride=" + strings.Repeat("a", 63)}, want: strings.Repeat("a", 40) + "-controller-manager"},
	} {
		t.Run(situation, func(t *testing.T) {
			got := findHelm(t, "helm4").mustTemplateNamed(t, tc.args...).names()
			for _, kind := range []string{"Deployment/", "Service/", "ClusterRole/", "ServiceAccount/"} {
				if !slices.Contains(got, kind+tc.want) {
					t.Errorf("no %s%s among %q", kind, tc.want, got)
				}
			}
		})
	}
}

// mustTemplateNamed lets the arguments name the release.
func (h helm) mustTemplateNamed(t *testing.T, args ...string) manifests {
	t.Helper()
	if !slices.Contains(args, "--name-template") {
		args = append(args, "--name-template", release)
	}
	out, err := h.run(t.Context(), nil, append([]string{"template", chartPath, "--namespace", namespace, "--kube-version", kubeVersion}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, out)
}

func TestOneValueMovesAPortEverywhere(t *testing.T) {
	made := findHelm(t, "helm4").mustTemplate(t,
		"--set", "manager.config.statusServer.port=11443", "--set", "manager.config.webhook.port=11444",
		"--set", "manager.config.metrics.bindAddress=:11445", "--set", "manager.config.health.healthProbeBindAddress=:11446",
		"--set", "networkPolicy.enabled=true")
	container := managerContainer(t, made)
	wantPorts := []corev1.ContainerPort{
		{Name: "health", ContainerPort: 11446, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: 11445, Protocol: corev1.ProtocolTCP},
		{Name: "webhook", ContainerPort: 11444, Protocol: corev1.ProtocolTCP},
		{Name: "status-server", ContainerPort: 11443, Protocol: corev1.ProtocolTCP},
	}
	if diff := cmp.Diff(wantPorts, container.Ports); diff != "" {
		t.Errorf("container ports (-want +got):\n%s", diff)
	}
	wantService := []string{"monitoring-port 11445 metrics", "webhook-server 443 webhook", "status-server 11443 status-server"}
	if diff := cmp.Diff(wantService, servicePorts(t, made)); diff != "" {
		t.Errorf("Service ports (-want +got):\n%s", diff)
	}
	config := configuration(t, made)
	if got := *config.StatusServer.Port; got != 11443 {
		t.Errorf("statusServer.port of the file is %d", got)
	}
	if got := deployment(t, made).Spec.Template.Annotations["traffic.sidecar.istio.io/excludeInboundPorts"]; got != "11444,11443" {
		t.Errorf("ports kept from the sidecar are %q", got)
	}
	policy := get[networkingv1.NetworkPolicy](t, made, "NetworkPolicy", managerName)
	for _, port := range policy.Spec.Ingress[0].Ports {
		if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Port.StrVal }) {
			t.Errorf("the network policy allows port %q, which the container does not have", port.Port)
		}
	}
}

func TestWithoutTheGateNothingOfTheStatusServerIsLeft(t *testing.T) {
	made := findHelm(t, "helm4").mustTemplate(t, "--set", "manager.config.featureGates.TrainJobStatus=false", "--set", "networkPolicy.enabled=true")
	want := []string{"monitoring-port 8443 metrics", "webhook-server 443 webhook"}
	if diff := cmp.Diff(want, servicePorts(t, made)); diff != "" {
		t.Errorf("Service ports (-want +got):\n%s", diff)
	}
	for _, port := range managerContainer(t, made).Ports {
		if port.Name == "status-server" {
			t.Error("the container still has the port")
		}
	}
	role := get[rbacv1.ClusterRole](t, made, "ClusterRole", managerName)
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "pods") || slices.Contains(rule.Resources, "tokenreviews") {
			t.Errorf("the role still allows %v", rule)
		}
	}
	if configuration(t, made).FeatureGates["TrainJobStatus"] {
		t.Error("the gate is on in the configuration file")
	}
}

func TestTheConfigurationFileSaysWhatTheManagerDefaultsTo(t *testing.T) {
	eachHelm(t, func(t *testing.T, h helm) {
		got := configuration(t, h.mustTemplate(t))
		want := &configapi.Configuration{FeatureGates: map[string]bool{"TrainJobStatus": true}}
		configapi.SetDefaults_Configuration(want)
		ignore := cmp.FilterPath(func(path cmp.Path) bool {
			switch path.String() {
			case "TypeMeta", "LeaderElection", "Controller", "Metrics.Auth", "Webhook.Host":
				return true // the manager has no default for these
			}
			return false
		}, cmp.Ignore())
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Errorf("configuration (-default +chart):\n%s", diff)
		}
		if *got.LeaderElection.LeaderElect != true || got.LeaderElection.ResourceName != "trainer.kubeflow.org" {
			t.Errorf("leader election is %+v", got.LeaderElection)
		}
		if n := got.Controller.GroupKindConcurrency[trainer.TrainJobKind+"."+trainer.GroupVersion.Group]; n != 5 {
			t.Errorf("%d TrainJobs at a time, want 5", n)
		}
	})
}

func TestAChangeOfTheConfigurationReplacesThePods(t *testing.T) {
	h := findHelm(t, "helm4")
	sum := func(args ...string) string {
		return deployment(t, h.mustTemplate(t, args...)).Spec.Template.Annotations["checksum/config"]
	}
	before := sum()
	if after := sum("--set", "manager.config.statusServer.qps=40"); before == "" || before == after {
		t.Errorf("checksum is %q before and %q after", before, after)
	}
	if again := sum("--set", "webhook.timeoutSeconds=5"); again != before {
		t.Error("a value outside of the configuration replaces the pods")
	}
}

func TestTheSecretIsLeftToTheManager(t *testing.T) {
	eachHelm(t, func(t *testing.T, h helm) {
		made := get[corev1.Secret](t, h.mustTemplate(t), "Secret", "kubeflow-trainer-webhook-cert")
		if made.Data != nil || made.StringData != nil {
			t.Errorf("Secret has keys: %v %v", made.Data, made.StringData)
		}
	})
}

// What is part of a release is put back on an upgrade, so a Secret with empty keys must not be.
func TestJobSetsSecretIsNoPartOfTheRelease(t *testing.T) {
	eachHelm(t, func(t *testing.T, h helm) {
		var hooks []string
		for _, object := range h.mustTemplate(t) {
			if object.GetKind() == "Secret" && object.GetName() == "jobset-webhook-server-cert" {
				hooks = append(hooks, object.GetAnnotations()["helm.sh/hook"])
			}
		}
		slices.Sort(hooks)
		if diff := cmp.Diff([]string{"post-delete", "pre-install,pre-upgrade"}, hooks); diff != "" {
			t.Errorf("hooks (-want +got):\n%s", diff)
		}
	})
}

func TestForeignCertificates(t *testing.T) {
	made := findHelm(t, "helm4").mustTemplate(t, "--values", chartPath+"/ci/foreign-certificate-values.yaml")
	if slices.Contains(made.names(), "Secret/trainer-tls") {
		t.Error("the chart creates the Secret that somebody else has to fill")
	}
	role := get[rbacv1.Role](t, made, "Role", "trainer-controller-manager-certificate")
	if got := role.Rules[0]; slices.Contains(got.Verbs, "patch") || !slices.Equal(got.ResourceNames, []string{"trainer-tls"}) {
		t.Errorf("the manager may write %v: %v", got.ResourceNames, got.Verbs)
	}
	webhooks := get[admissionregistrationv1.ValidatingWebhookConfiguration](t, made, "ValidatingWebhookConfiguration", "validator.trainer.kubeflow.org")
	for _, webhook := range webhooks.Webhooks {
		if webhook.ClientConfig.Service.Name != "trainer-front" || len(webhook.ClientConfig.CABundle) == 0 {
			t.Errorf("webhook %s calls Service %s, CA %q", webhook.Name, webhook.ClientConfig.Service.Name, webhook.ClientConfig.CABundle)
		}
	}
	get[corev1.Service](t, made, "Service", "trainer-front")
}

func TestSeveralManagersGetADisruptionBudget(t *testing.T) {
	h := findHelm(t, "helm4")
	for set, want := range map[string]bool{
		"manager.replicas=1": false,
		"manager.replicas=2": true,
		"manager.replicas=2,manager.podDisruptionBudget.enabled=false": false,
	} {
		t.Run(set, func(t *testing.T) {
			got := slices.Contains(h.mustTemplate(t, "--set", set).names(), "PodDisruptionBudget/"+managerName)
			if got != want {
				t.Errorf("budget rendered: %t, want %t", got, want)
			}
		})
	}
}

func TestCRDsAreKeptOnRequestOnly(t *testing.T) {
	h := findHelm(t, "helm4")
	for set, want := range map[string]string{"crds.keep=false": "", "crds.keep=true": "keep"} {
		t.Run(set, func(t *testing.T) {
			for _, object := range h.mustTemplate(t, "--set", set) {
				if object.GetKind() != "CustomResourceDefinition" {
					continue
				}
				if got := object.GetAnnotations()["helm.sh/resource-policy"]; got != want {
					t.Errorf("%s has resource policy %q, want %q", object.GetName(), got, want)
				}
			}
		})
	}
}

func deployment(t *testing.T, m manifests) *appsv1.Deployment {
	t.Helper()
	return get[appsv1.Deployment](t, m, "Deployment", managerName)
}

func managerContainer(t *testing.T, m manifests) corev1.Container {
	t.Helper()
	return deployment(t, m).Spec.Template.Spec.Containers[0]
}

func servicePorts(t *testing.T, m manifests) []string {
	t.Helper()
	var ports []string
	for _, port := range get[corev1.Service](t, m, "Service", managerName).Spec.Ports {
		ports = append(ports, strings.Join([]string{port.Name, strconv.Itoa(int(port.Port)), port.TargetPort.String()}, " "))
	}
	return ports
}

// configuration reads the file as strictly as the manager does.
func configuration(t *testing.T, m manifests) *configapi.Configuration {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := configapi.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	file := get[corev1.ConfigMap](t, m, "ConfigMap", "kubeflow-trainer-config").Data["controller_manager_config.yaml"]
	config := &configapi.Configuration{}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	if err := runtime.DecodeInto(decoder, []byte(file), config); err != nil {
		t.Fatalf("reading the configuration file: %v\n%s", err, file)
	}
	return config
}
