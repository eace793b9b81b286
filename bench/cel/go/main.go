// Command cel measures what compiling and evaluating expressions takes cel-go: as a program uses it by itself, and as the API server
// does, with its libraries and costs. It prints a line of JSON for each expression.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

type cases struct {
	Variables struct {
		Object  map[string]any `json:"object"`
		Request map[string]any `json:"request"`
		Numbers int64          `json:"numbers"`
	} `json:"variables"`
	Expressions []struct {
		Name       string `json:"name"`
		Expression string `json:"expression"`
	} `json:"expressions"`
}

// measured are the nanoseconds that an expression takes, or why it has no value.
type measured struct {
	Name     string  `json:"name"`
	Engine   string  `json:"engine"`
	Compile  float64 `json:"compile"`
	Evaluate float64 `json:"evaluate"`
	Result   string  `json:"result"`
	Refused  string  `json:"refused"`
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "cel:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all cases
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	numbers := make([]any, all.Variables.Numbers)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	variables := map[string]any{
		"object": whole(all.Variables.Object), "request": whole(all.Variables.Request), "numbers": numbers,
	}
	names := []cel.EnvOption{
		cel.Variable("object", cel.DynType), cel.Variable("request", cel.DynType), cel.Variable("numbers", cel.DynType),
	}
	plain, err := cel.NewEnv(append(names,
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(),
	)...)
	if err != nil {
		return err
	}
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: names})
	if err != nil {
		return err
	}
	output := json.NewEncoder(os.Stdout)
	for _, one := range all.Expressions {
		for _, engine := range []struct {
			name    string
			env     *cel.Env
			options []cel.ProgramOption
		}{
			{"cel-go", plain, []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}},
			{"kubernetes", set.NewExpressionsEnv(), nil},
		} {
			line := measure(engine.env, engine.options, one.Expression, variables)
			line.Name, line.Engine = one.Name, engine.name
			if err := output.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole makes integers of the numbers of JSON, as the API server does.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = whole(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = whole(inner)
		}
	case float64:
		return int64(value)
	}
	return value
}

func measure(env *cel.Env, options []cel.ProgramOption, expression string, variables map[string]any) measured {
	compile := func() (cel.Program, error) {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		return env.Program(ast, options...)
	}
	program, err := compile()
	if err != nil {
		return measured{Refused: err.Error()}
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		return measured{Refused: err.Error()}
	}
	return measured{
		Compile:  nanoseconds(func() { _, _ = compile() }),
		Evaluate: nanoseconds(func() { _, _, _ = program.Eval(variables) }),
		Result:   fmt.Sprint(value.Value()),
	}
}

// nanoseconds is the shortest of several runs of 50 ms, so that other programs on the machine count little.
func nanoseconds(call func()) float64 {
	shortest := 0.0
	for range 5 {
		calls, began := 0, time.Now()
		for time.Since(began) < 50*time.Millisecond {
			for range 16 {
				call()
			}
			calls += 16
		}
		if each := float64(time.Since(began).Nanoseconds()) / float64(calls); shortest == 0 || each < shortest {
			shortest = each
		}
	}
	return shortest
}
