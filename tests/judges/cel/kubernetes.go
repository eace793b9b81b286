package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// kubernetes is the environment of the API server with the functions that were introduced by a version, and with the macro of device
// selectors.
func kubernetes(minor uint) (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, minor)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 31),
		EnvOptions:        []cel.EnvOption{ext.Bindings(ext.BindingsVersion(0))},
	})
	if err != nil {
		return nil, fmt.Errorf("making the environment of Kubernetes: %w", err)
	}
	return set.NewExpressionsEnv(), nil
}

// inKubernetes is what the API server's own environment does with a case.
func inKubernetes(base *cel.Env, one Case) (outcome, error) {
	var options []cel.EnvOption
	for _, declared := range one.Test.TypeEnv {
		option, err := cel.ProtoAsDeclaration(declared)
		if err != nil {
			return outcome{}, fmt.Errorf("declaring %s: %w", declared.Name, err)
		}
		options = append(options, option)
	}
	env, err := base.Extend(options...)
	if err != nil {
		return outcome{unsupported: err.Error()}, nil
	}
	variables := map[string]any{}
	for name, bound := range one.Test.Bindings {
		value, err := cel.ProtoAsValue(env.CELTypeAdapter(), bound.GetValue())
		if err != nil {
			return outcome{unsupported: err.Error()}, nil
		}
		variables[name] = value
	}
	ast, issues := env.Compile(one.Test.Expr)
	if issues.Err() != nil {
		return outcome{refused: "compilation failed: " + issues.String()}, nil
	}
	program, err := env.Program(ast)
	if err != nil {
		return outcome{refused: "program instantiation failed: " + err.Error()}, nil
	}
	done := outcome{deduced: ast.OutputType().String()}
	value, details, err := program.Eval(variables)
	if cost := details.ActualCost(); cost != nil {
		done.cost = *cost
	}
	if err != nil {
		return outcome{failed: err.Error(), cost: done.cost}, nil
	}
	if optional, ok := value.(*types.Optional); ok && optional != nil {
		done.opaque = "optional_type"
		return done, nil
	}
	if done.value, err = cel.ValueAsProto(value); err != nil {
		done.value, done.opaque = nil, value.Type().TypeName()
	}
	return done, nil
}
