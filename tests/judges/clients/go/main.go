// Drives client-go's sample-controller, a program built from its module, with the clients that it brings: a Foo becomes a
// Deployment, a change of its replicas reaches the Deployment, and its status follows.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
	sample "k8s.io/sample-controller/pkg/generated/clientset/versioned"
)

const namespace = "go-client"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "go: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("go: the sample controller's program passed")
}

func run(ctx context.Context) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if err := define(ctx, config); err != nil {
		return err
	}
	controller, err := start(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer func() { _ = controller.Process.Kill(); _ = controller.Wait() }()
	return drive(ctx, kubernetes.NewForConfigOrDie(config), sample.NewForConfigOrDie(config))
}

// define installs the definition that the module of the sample controller has beside its code.
func define(ctx context.Context, config *rest.Config) error {
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/sample-controller").Output()
	if err != nil {
		return fmt.Errorf("finding the module of the sample controller: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "artifacts", "examples", "crd-status-subresource.yaml"))
	if err != nil {
		return fmt.Errorf("reading the definition of Foo: %w", err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return fmt.Errorf("reading the definition of Foo: %w", err)
	}
	definitions := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, &definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the definition of Foo: %w", err)
	}
	follow := &cache.ListWatch{
		ListFunc:  func(options metav1.ListOptions) (runtime.Object, error) { return definitions.List(ctx, options) },
		WatchFunc: func(options metav1.ListOptions) (apiwatch.Interface, error) { return definitions.Watch(ctx, options) },
	}
	_, err = watch.UntilWithSync(ctx, follow, &apiextensionsv1.CustomResourceDefinition{}, nil, func(event apiwatch.Event) (bool, error) {
		seen := event.Object.(*apiextensionsv1.CustomResourceDefinition)
		for _, condition := range seen.Status.Conditions {
			if seen.Name == definition.Name && condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the definition of Foo is established: %w", err)
	}
	return nil
}

// start builds the sample controller from its module, and runs it.
func start(ctx context.Context, kubeconfig string) (*exec.Cmd, error) {
	program := filepath.Join(os.TempDir(), fmt.Sprintf("sample-controller-%d", os.Getpid()))
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "k8s.io/sample-controller")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the sample controller: %w", err)
	}
	defer os.Remove(program)
	controller := exec.CommandContext(ctx, program, "-kubeconfig", kubeconfig)
	if err := controller.Start(); err != nil {
		return nil, fmt.Errorf("starting the sample controller: %w", err)
	}
	return controller, nil
}

func drive(ctx context.Context, cluster kubernetes.Interface, samples sample.Interface) error {
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := cluster.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	foos := samples.SamplecontrollerV1alpha1().Foos(namespace)
	one := int32(1)
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Name: "example"},
		Spec:       v1alpha1.FooSpec{DeploymentName: "example", Replicas: &one},
	}
	if _, err := foos.Create(ctx, foo, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating a Foo: %w", err)
	}
	if err := deployed(ctx, cluster, 1); err != nil {
		return err
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := foos.Get(ctx, "example", metav1.GetOptions{})
		if err != nil {
			return err
		}
		three := int32(3)
		current.Spec.Replicas = &three
		_, err = foos.Update(ctx, current, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("updating the Foo: %w", err)
	}
	if err := deployed(ctx, cluster, 3); err != nil {
		return err
	}
	status := &cache.ListWatch{
		ListFunc:  func(options metav1.ListOptions) (runtime.Object, error) { return foos.List(ctx, options) },
		WatchFunc: func(options metav1.ListOptions) (apiwatch.Interface, error) { return foos.Watch(ctx, options) },
	}
	_, err = watch.UntilWithSync(ctx, status, &v1alpha1.Foo{}, nil, func(event apiwatch.Event) (bool, error) {
		return event.Object.(*v1alpha1.Foo).Status.AvailableReplicas == 3, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the status of the Foo says three replicas: %w", err)
	}
	return cluster.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
}

// deployed waits until the controller's Deployment has so many replicas, and all are available.
func deployed(ctx context.Context, cluster kubernetes.Interface, replicas int32) error {
	deployments := cluster.AppsV1().Deployments(namespace)
	follow := &cache.ListWatch{
		ListFunc:  func(options metav1.ListOptions) (runtime.Object, error) { return deployments.List(ctx, options) },
		WatchFunc: func(options metav1.ListOptions) (apiwatch.Interface, error) { return deployments.Watch(ctx, options) },
	}
	_, err := watch.UntilWithSync(ctx, follow, &appsv1.Deployment{}, nil, func(event apiwatch.Event) (bool, error) {
		seen := event.Object.(*appsv1.Deployment)
		return seen.Name == "example" && *seen.Spec.Replicas == replicas && seen.Status.AvailableReplicas == replicas, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for a Deployment of %d replicas: %w", replicas, err)
	}
	return nil
}
