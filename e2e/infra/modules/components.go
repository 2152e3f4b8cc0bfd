// SPDX-License-Identifier: Apache-2.0

package modules

// A component is one long-running process of the cluster.
type component struct {
	name string
	args []string
	// node components share a mount namespace of their own.
	node bool
}

// Components in the order of their start.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	proxy             = "kube-proxy"
	dns               = "coredns"
	containerd        = "containerd"
	kubelet           = "kubelet"
)

// etcdComponent keeps etcd's files on disk and its ports in the namespace.
func (l layout) etcdComponent() component {
	return component{name: etcd, args: []string{
		"--name=" + l.name,
		"--data-dir=" + l.path("etcd"),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=" + l.name + "=http://127.0.0.1:2380",
		"--log-level=warn",
	}}
}

func (l layout) apiServerComponent() component {
	return component{name: apiServer, args: []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + nodeAddress,
		"--secure-port=6443",
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=" + l.certificate(authority),
		"--requestheader-client-ca-file=" + l.certificate(frontProxy),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--tls-cert-file=" + l.certificate(apiServer),
		"--tls-private-key-file=" + l.key(apiServer),
		"--kubelet-certificate-authority=" + l.certificate(authority),
		"--kubelet-client-certificate=" + l.certificate(kubeletClient),
		"--kubelet-client-key=" + l.key(kubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + l.key(serviceAccount),
		"--service-account-signing-key-file=" + l.key(serviceAccount),
		"--service-cluster-ip-range=" + serviceCIDR,
		"--profiling=false",
	}}
}

func (l layout) controllerManagerComponent() component {
	return component{name: controllerManager, args: []string{
		"--kubeconfig=" + l.kubeconfig(controllerManager),
		"--authentication-kubeconfig=" + l.kubeconfig(controllerManager),
		"--authorization-kubeconfig=" + l.kubeconfig(controllerManager),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--root-ca-file=" + l.certificate(authority),
		"--service-account-private-key-file=" + l.key(serviceAccount),
		"--cluster-signing-cert-file=" + l.certificate(authority),
		"--cluster-signing-key-file=" + l.key(authority),
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + clusterCIDR,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--profiling=false",
	}}
}

func (l layout) schedulerComponent() component {
	return component{name: scheduler, args: []string{
		"--kubeconfig=" + l.kubeconfig(scheduler),
		"--authentication-kubeconfig=" + l.kubeconfig(scheduler),
		"--authorization-kubeconfig=" + l.kubeconfig(scheduler),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--profiling=false",
	}}
}

func (l layout) proxyComponent() component {
	return component{name: proxy, args: []string{
		"--kubeconfig=" + l.kubeconfig(proxy),
		"--proxy-mode=nftables",
		"--cluster-cidr=" + clusterCIDR,
		"--hostname-override=" + l.name,
		"--metrics-bind-address=127.0.0.1:10249",
		// Written once for the whole machine, where a sandbox may forbid it.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0s",
		"--conntrack-tcp-timeout-close-wait=0s",
	}}
}

func (l layout) dnsComponent() component {
	return component{name: dns, args: []string{"-conf", l.config("Corefile")}}
}

func (l layout) containerdComponent() component {
	return component{name: containerd, node: true, args: []string{"--config", l.config("containerd.toml")}}
}

func (l layout) kubeletComponent() component {
	return component{name: kubelet, node: true, args: []string{
		"--config=" + l.config("kubelet.yaml"),
		"--kubeconfig=" + l.kubeconfig(kubelet),
		"--hostname-override=" + l.name,
		"--node-ip=" + nodeAddress,
	}}
}
