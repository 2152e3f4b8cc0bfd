// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package kubeflow

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// user is the kubeconfig of somebody with the chart's role for users in one namespace, and no
// other right.
var user string

func newUser(ctx SpecContext) string {
	GinkgoHelper()
	const name = "scientist"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	Expect(bed.Client.Create(ctx, account)).To(Succeed())
	Expect(bed.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubeflow-trainer-edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	})).To(Succeed())
	token, err := bed.Clientset.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return writeKubeconfig(name, token.Status.Token)
}

// writeKubeconfig writes the present kubeconfig with another user and the suite's namespace.
func writeKubeconfig(name, token string) string {
	GinkgoHelper()
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	Expect(err).NotTo(HaveOccurred())
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{name: {Token: token}}
	current := config.Contexts[config.CurrentContext]
	current.AuthInfo, current.Namespace = name, namespace
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}
