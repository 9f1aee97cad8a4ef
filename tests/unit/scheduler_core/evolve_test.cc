// Two switches with a default handle the kinds of records, so the compiler can't check that each kind is applied.
#include "scheduler/core/context/evolve.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

// Evolve aborts at a kind that no part of it applies. Without the run and the node that they name, most records change
// nothing.
TEST(Evolve, AppliesEachKindOfRecord) {
  const google::protobuf::OneofDescriptor* kinds = v1::Record::descriptor()->FindOneofByName("kind");
  ASSERT_NE(kinds, nullptr);
  for (int i = 0; i < kinds->field_count(); ++i) {
    SCOPED_TRACE(kinds->field(i)->name());
    State state;
    v1::Record record;
    record.GetReflection()->MutableMessage(&record, kinds->field(i));
    Evolve(state, record);
  }
}

}  // namespace
}  // namespace muster::scheduler
