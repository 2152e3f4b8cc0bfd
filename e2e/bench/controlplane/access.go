// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GrantFile creates the service account and binds to it every role of the YAML file. Other objects
// of the file are left out: the account here has no other name or namespace than asked for.
func (p *Plane) GrantFile(ctx context.Context, path, namespace, account string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading roles: %w", err)
	}
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace}}
	if _, err := p.clients.CoreV1().ServiceAccounts(namespace).Create(ctx, serviceAccount, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating service account %s/%s: %w", namespace, account, err)
	}
	objects, err := Decode(content)
	if err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "ClusterRole":
			role := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				return fmt.Errorf("reading a role of %s: %w", path, err)
			}
			err = p.grantCluster(ctx, role, namespace, account)
		case "Role":
			role := &rbacv1.Role{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				return fmt.Errorf("reading a role of %s: %w", path, err)
			}
			err = p.grantNamespace(ctx, role, namespace, account)
		}
		if err != nil {
			return fmt.Errorf("granting %s of %s: %w", object.GetName(), path, err)
		}
	}
	return nil
}

func (p *Plane) grantCluster(ctx context.Context, role *rbacv1.ClusterRole, namespace, account string) error {
	// Manifests call theirs "manager-role" and the like; the account's name keeps them apart.
	role.Name = account + "-" + role.Name
	if _, err := p.clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	_, err := p.clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func (p *Plane) grantNamespace(ctx context.Context, role *rbacv1.Role, namespace, account string) error {
	role.Name, role.Namespace = account+"-"+role.Name, namespace
	if _, err := p.clients.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	_, err := p.clients.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}
