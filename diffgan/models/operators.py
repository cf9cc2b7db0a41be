"""Operators of torch that no network needs and that no file may call, in whichever format it comes."""

from __future__ import annotations

#: On tensors, and on lists and texts, that also do something else; met as torch.NAME, ops.aten.NAME or .NAME.
SIDE_EFFECTS = {"save", "from_file", "manual_seed"}
#: Others that no network needs: distributed references, process-wide settings, tensors over unchecked indices.
NEEDLESS = {
    *("to_here", "local_value", "owner", "owner_name", "is_owner", "confirmed_by_owner", "get_gradients"),
    *("_cufft_set_plan_cache_max_size", "_cufft_clear_plan_cache", "record_stream"),
    *("_sparse_coo_tensor_unsafe", "_sparse_compressed_tensor_unsafe", "_sparse_csr_tensor_unsafe"),
    *("_sparse_csc_tensor_unsafe", "_sparse_bsr_tensor_unsafe", "_sparse_bsc_tensor_unsafe"),
    *("_nested_view_from_buffer", "_nested_view_from_buffer_copy"),
}
