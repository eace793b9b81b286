// Writes the columns of the tables that kubectl shows of built-in objects, for the embedded API server: the printers of
// Kubernetes say what they are, as they register themselves. It reads the modules in go.mod.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	definitions "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	services "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

// What a printer registers, by the group and the kind that it prints.
type tables map[string][]metav1.TableColumnDefinition

// TableHandler is called with each printer: of objects, and of lists, which have the same columns.
func (t tables) TableHandler(columns []metav1.TableColumnDefinition, print any) error {
	printed, ok := reflect.New(reflect.TypeOf(print).In(0).Elem()).Interface().(runtime.Object)
	if !ok {
		return nil
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(printed)
	if err != nil {
		return nil // Of no group that is served, such as the table itself.
	}
	for _, kind := range kinds {
		// Nothing is served of the extensions any more.
		if kind.Group != "extensions" && !strings.HasSuffix(kind.Kind, "List") {
			t[kind.Group+"/"+kind.Kind] = columns
		}
	}
	return nil
}

// What makes a table without a printer.
type convertor interface {
	ConvertToTable(context.Context, runtime.Object, runtime.Object) (*metav1.Table, error)
}

// The columns of an empty list.
func (t tables) convert(kind string, list runtime.Object, by convertor) error {
	table, err := by.ConvertToTable(context.Background(), list, nil)
	if err == nil {
		t[kind] = table.ColumnDefinitions
	}
	return err
}

func main() {
	all := tables{}
	internalversion.AddHandlers(all)
	if err := errors.Join(
		// A kind without a printer.
		all.convert("", &apiregistration.APIServiceList{}, rest.NewDefaultTableConvertor(schema.GroupResource{})),
		all.convert("apiregistration.k8s.io/APIService", &apiregistration.APIServiceList{}, &services.REST{}),
		all.convert("apiextensions.k8s.io/CustomResourceDefinition",
			&apiextensions.CustomResourceDefinitionList{}, definitions.New()),
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var kinds []string
	for kind := range all {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	var lines []string
	for _, kind := range kinds {
		for _, column := range all[kind] {
			cells := []any{kind, column.Name, column.Type, column.Format, column.Priority, column.Description}
			line, err := json.Marshal(cells)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			lines = append(lines, string(line))
		}
	}
	fmt.Printf("[\n%s\n]\n", strings.Join(lines, ",\n"))
}
