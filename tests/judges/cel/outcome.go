package main

import (
	"fmt"
	"math"
	"strings"

	expr "cel.dev/expr"
	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/proto"
)

// outcome is what became of a case: exactly one of its fields is set, and the type with the value.
type outcome struct {
	// refused is why the expression does not compile.
	refused string
	// failed is why it has no value.
	failed string
	// unsupported is what the case needs that an environment cannot have.
	unsupported string
	// deduced is the type of the expression.
	deduced string
	value   *expr.Value
	// opaque is the type of a value that is not one of protobuf's.
	opaque string
	// cost is what the evaluation cost, in the units of the API server.
	cost uint64
}

func (o outcome) String() string {
	switch {
	case o.refused != "":
		return "refused: " + o.refused
	case o.failed != "":
		return fmt.Sprintf("failed: %s (cost %d)", o.failed, o.cost)
	case o.unsupported != "":
		return "unsupported: " + o.unsupported
	case o.opaque != "":
		return fmt.Sprintf("value: %s (cost %d)", o.opaque, o.cost)
	}
	return fmt.Sprintf("value: %v (cost %d)", o.value, o.cost)
}

// same is whether two environments did the same with an expression, to the letter of a message.
func (o outcome) same(other outcome) bool {
	if o.cost != other.cost || o.refused != other.refused || o.failed != other.failed || o.unsupported != other.unsupported {
		return false
	}
	if o.value == nil || other.value == nil {
		return o.value == nil && other.value == nil && o.opaque == other.opaque
	}
	return o.deduced == other.deduced && sameValue(o.value, other.value)
}

// holds is whether the outcome is the one that the suite expects.
func (o outcome) holds(one *test.SimpleTest) bool {
	if o.refused != "" || o.unsupported != "" {
		return false
	}
	switch expected := one.ResultMatcher.(type) {
	case *test.SimpleTest_EvalError, *test.SimpleTest_AnyEvalErrors:
		return o.failed != ""
	case *test.SimpleTest_Value:
		return o.value != nil && sameValue(o.value, expected.Value)
	case *test.SimpleTest_TypedResult:
		if o.deduced != typeName(expected.TypedResult.DeducedType) {
			return false
		}
		result := expected.TypedResult.Result
		return one.CheckOnly || result == nil || o.value != nil && sameValue(o.value, result)
	case nil:
		return o.value.GetBoolValue()
	}
	return false
}

// sameValue compares values with their types. The order of a map's entries does not count, and NaN is itself.
func sameValue(left, right *expr.Value) bool {
	switch left := left.Kind.(type) {
	case *expr.Value_DoubleValue:
		right, ok := right.Kind.(*expr.Value_DoubleValue)
		return ok && (left.DoubleValue == right.DoubleValue || math.IsNaN(left.DoubleValue) && math.IsNaN(right.DoubleValue))
	case *expr.Value_ListValue:
		right, ok := right.Kind.(*expr.Value_ListValue)
		if !ok || len(left.ListValue.Values) != len(right.ListValue.Values) {
			return false
		}
		for i, one := range left.ListValue.Values {
			if !sameValue(one, right.ListValue.Values[i]) {
				return false
			}
		}
		return true
	case *expr.Value_MapValue:
		right, ok := right.Kind.(*expr.Value_MapValue)
		if !ok || len(left.MapValue.Entries) != len(right.MapValue.Entries) {
			return false
		}
		for _, one := range left.MapValue.Entries {
			found := false
			for _, other := range right.MapValue.Entries {
				found = found || sameValue(one.Key, other.Key) && sameValue(one.Value, other.Value)
			}
			if !found {
				return false
			}
		}
		return true
	}
	return proto.Equal(left, right)
}

// typeName is a type as messages write it.
func typeName(of *expr.Type) string {
	all := func(types ...*expr.Type) string {
		var names []string
		for _, one := range types {
			names = append(names, typeName(one))
		}
		return strings.Join(names, ", ")
	}
	switch kind := of.GetTypeKind().(type) {
	case *expr.Type_Null:
		return "null_type"
	case *expr.Type_Primitive:
		return map[expr.Type_PrimitiveType]string{
			expr.Type_BOOL: "bool", expr.Type_INT64: "int", expr.Type_UINT64: "uint",
			expr.Type_DOUBLE: "double", expr.Type_STRING: "string", expr.Type_BYTES: "bytes",
		}[kind.Primitive]
	case *expr.Type_Wrapper:
		return "wrapper(" + typeName(&expr.Type{TypeKind: &expr.Type_Primitive{Primitive: kind.Wrapper}}) + ")"
	case *expr.Type_WellKnown:
		return map[expr.Type_WellKnownType]string{
			expr.Type_TIMESTAMP: "google.protobuf.Timestamp", expr.Type_DURATION: "google.protobuf.Duration", expr.Type_ANY: "any",
		}[kind.WellKnown]
	case *expr.Type_ListType_:
		return "list(" + all(kind.ListType.ElemType) + ")"
	case *expr.Type_MapType_:
		return "map(" + all(kind.MapType.KeyType, kind.MapType.ValueType) + ")"
	case *expr.Type_MessageType:
		return kind.MessageType
	case *expr.Type_TypeParam:
		return kind.TypeParam
	case *expr.Type_Type:
		return "type(" + all(kind.Type) + ")"
	case *expr.Type_AbstractType_:
		name := kind.AbstractType.Name
		if parameters := kind.AbstractType.ParameterTypes; len(parameters) > 0 {
			name += "(" + all(parameters...) + ")"
		}
		return name
	}
	return "dyn"
}
