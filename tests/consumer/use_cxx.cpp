/* use_cxx.cpp - the headers in a C++ program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstring>
#include <fulgurite/fulgurite.h>

int main()
{
    return std::strcmp(fg_dtype_name(FG_F32), "f32") == 0 ? 0 : 1;
}
