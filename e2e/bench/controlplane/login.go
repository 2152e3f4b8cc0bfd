// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds outlives the longest run anybody starts.
const tokenSeconds = 24 * 3600

// ServiceAccountToken issues a token for the API server itself.
func (p *Plane) ServiceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
	answer, err := p.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, name, err)
	}
	return answer.Status.Token, nil
}

// TokenKubeconfig is a kubeconfig that logs in with a token.
func (p *Plane) TokenKubeconfig(token string) ([]byte, error) {
	return p.kubeconfig(&clientcmdapi.AuthInfo{Token: token})
}

// certKubeconfig is a kubeconfig that logs in as a user with a certificate.
func (p *Plane) certKubeconfig(user string, groups ...string) ([]byte, error) {
	pair, err := p.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return p.kubeconfig(&clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

func (p *Plane) kubeconfig(user *clientcmdapi.AuthInfo) ([]byte, error) {
	const name = "bench"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.host, CertificateAuthorityData: p.authority.PEM()}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return content, nil
}
